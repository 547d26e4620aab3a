/* All processes count K times in one variable, without a lock; the same steps as
 * counters-shared.rad. A process that is done stays where it is: that is a valid end.
 */
#define N 3
#define K 8

byte counter;

active [N] proctype count() {
    byte i, read;
again:
    read = counter;
    if
    :: d_step { i < K - 1 -> counter = read + 1; read = 0; i++ }; goto again
    :: d_step { i == K - 1 -> counter = read + 1; read = 0; i = 0 }
    fi;
end: false
}
