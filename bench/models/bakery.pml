/* Lamport's bakery with bounded tickets; the same steps as bakery.rad.
 *
 * A step of Raddle is one shared access and the local code behind it, so each step here
 * is one statement or one d_step. Variables that are out of scope there are zero here.
 */
#define N 3
#define LIMIT 60
#define LARGER (number[j] > mine -> number[j] : mine)
#define FIRST (_pid == 0 -> 1 : 0)
#define NEXT (j + 1 == _pid -> j + 2 : j + 1)
#define BEFORE_ME (number[j] == mine && j < _pid)

bool choosing[N];
byte number[N];
byte inside;

active [N] proctype customer() {
    byte mine, j;
again:
    choosing[_pid] = true;
scan:
    if
    :: d_step { j < N - 1 -> mine = LARGER; j++ }; goto scan
    :: d_step { j == N - 1 -> mine = LARGER; j = 0 }
    fi;
    if
    :: d_step { mine == LIMIT -> choosing[_pid] = false; mine = 0 }; goto again
    :: d_step { mine < LIMIT -> mine++; number[_pid] = mine }
    fi;
    d_step { choosing[_pid] = false; j = FIRST };
choosing_j:
    if
    :: choosing[j] -> goto choosing_j
    :: !choosing[j]
    fi;
number_j:
    if
    :: d_step { number[j] == 0 && NEXT < N -> j = NEXT }; goto choosing_j
    :: d_step { number[j] == 0 && NEXT >= N -> j = 0 }; goto critical
    :: number[j] != 0
    fi;
    if
    :: number[j] < mine -> goto number_j
    :: number[j] >= mine
    fi;
    if
    :: BEFORE_ME -> goto number_j
    :: d_step { !BEFORE_ME && NEXT < N -> j = NEXT }; goto choosing_j
    :: d_step { !BEFORE_ME && NEXT >= N -> j = 0 }
    fi;
critical:
    if
    :: d_step { true -> inside++; assert(inside == 1) }
    fi;
    inside--;
    d_step { number[_pid] = 0; mine = 0 };
    goto again
}
