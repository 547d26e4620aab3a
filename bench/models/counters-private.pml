/* Each process counts to K in a variable of its own; the same steps as
 * counters-private.rad. A process that is done stays where it is: that is a valid end.
 */
#define N 6
#define K 9

byte counters[N];

active [N] proctype count() {
    byte i;
again:
    if
    :: d_step { i < K - 1 -> counters[_pid]++; i++ }; goto again
    :: d_step { i == K - 1 -> counters[_pid]++; i = 0 }
    fi;
end: false
}
