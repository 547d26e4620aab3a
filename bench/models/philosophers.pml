/* Dining philosophers who take the fork with the lower number first; the same
 * steps as philosophers.rad. A fork is 0, or 1 + the philosopher who holds it.
 */
#define N 8
#define FIRST (_pid == N - 1 -> 0 : _pid)
#define SECOND (_pid == N - 1 -> _pid : _pid + 1)

byte forks[N];
bool eating[N];

active [N] proctype philosopher() {
    do
    :: d_step { forks[FIRST] == 0 -> forks[FIRST] = _pid + 1 };
       d_step { forks[SECOND] == 0 -> forks[SECOND] = _pid + 1 };
       eating[_pid] = true;
       eating[_pid] = false;
       forks[SECOND] = 0;
       forks[FIRST] = 0
    od
}
