/* Readers and writers built from two semaphores; the same steps as
 * readers-writers.rad. Variables that are out of scope there are zero here.
 */
#define READERS 8
#define WRITERS 4

byte counting = 1;
byte writing = 1;
byte readers;
byte data;

active [READERS] proctype reader() {
    byte a;
    do
    :: d_step { counting > 0 -> counting-- };
       readers++;
       if
       :: readers == 1 -> d_step { writing > 0 -> writing-- }
       :: readers != 1
       fi;
       counting++;
       a = data;
       d_step { assert(a == data); a = 0 };
       d_step { counting > 0 -> counting-- };
       readers--;
       if
       :: readers == 0 -> writing++
       :: readers != 0
       fi;
       counting++
    od
}

active [WRITERS] proctype writer() {
    byte old;
    do
    :: d_step { writing > 0 -> writing-- };
       data++;
       old = data;
       d_step { data = old % 2; old = 0 };
       writing++
    od
}
