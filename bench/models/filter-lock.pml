/* Peterson's lock for N threads; the same steps as filter-lock.rad.
 *
 * A step of Raddle is one shared access and the local code behind it, so each step here
 * is one d_step. Variables that are out of scope there are zero here.
 */
#define N 3
#define FIRST (_pid == 0 -> 1 : 0)
#define NEXT (k + 1 == _pid -> k + 2 : k + 1)

byte level[N];
byte last[N];
byte inside;

active [N] proctype process() {
    byte l = 1;
    byte k;
enter:
    level[_pid] = l;
    d_step { last[l] = _pid; k = FIRST };
look:
    if
    :: level[k] >= l ->
        if
        :: last[l] == _pid -> goto look
        :: d_step { last[l] != _pid && NEXT < N -> k = NEXT }; goto look
        :: d_step { last[l] != _pid && NEXT >= N && l < N - 1 -> k = 0; l++ }; goto enter
        :: d_step { last[l] != _pid && NEXT >= N && l == N - 1 -> k = 0; l = 0 }
        fi
    :: d_step { level[k] < l && NEXT < N -> k = NEXT }; goto look
    :: d_step { level[k] < l && NEXT >= N && l < N - 1 -> k = 0; l++ }; goto enter
    :: d_step { level[k] < l && NEXT >= N && l == N - 1 -> k = 0; l = 0 }
    fi;
    d_step { inside++; assert(inside == 1) };
    inside--;
    d_step { level[_pid] = 0; l = 1 };
    goto enter
}
