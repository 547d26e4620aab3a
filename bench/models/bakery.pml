/* Lamport's bakery with bounded tickets; the same steps as bakery.rad.
 *
 * A step of Raddle is one shared access and the local code behind it, so each step here
 * is one d_step. Variables that are out of scope there are zero here.
 */
#define N 3
#define LIMIT 7
#define LATER(j) (number[j] == 0 || number[j] > mine || (number[j] == mine && j > _pid))
#define FIRST (_pid == 0 -> 1 : 0)
#define NEXT (j + 1 == _pid -> j + 2 : j + 1)

bool choosing[N];
byte number[N];
byte inside;

active [N] proctype customer() {
    byte mine, j;
again:
    choosing[_pid] = true;
scan:
    if
    :: d_step { j < N - 1 -> mine = (number[j] > mine -> number[j] : mine); j++ }; goto scan
    :: d_step { j == N - 1 -> mine = (number[j] > mine -> number[j] : mine); j = 0 }
    fi;
    if
    :: d_step { mine == LIMIT -> choosing[_pid] = false; mine = 0 }; goto again
    :: d_step { mine < LIMIT -> mine++; number[_pid] = mine }
    fi;
    d_step { choosing[_pid] = false; j = FIRST };
wait:
    !choosing[j];
    if
    :: d_step { LATER(j) && NEXT < N -> j = NEXT }; goto wait
    :: d_step { LATER(j) && NEXT >= N -> j = 0 }
    fi;
    d_step { inside++; assert(inside == 1) };
    inside--;
    d_step { number[_pid] = 0; mine = 0 };
    goto again
}
