/* How many files may be open, and for what.
 *
 * The kernel gives the lowest number that is free.  So the number of a new descriptor says how many
 * are open at least, whoever opened them, and nothing needs to be counted.  Without
 * descriptors_set_limit() there is no bound but the kernel's. */
#pragma once

#include <stdbool.h>

/* What a descriptor is for, and up to which number: each has more room than the one before. */
enum descriptor_use {
    DESCRIPTOR_SPARE,   /* of a process, and opened anew for each use where it is not kept */
    DESCRIPTOR_THREAD,  /* of a thread; closed when others need room */
    DESCRIPTOR_PROCESS, /* of a process, as long as it is sampled */
    DESCRIPTOR_NOW,     /* soon closed */
    DESCRIPTOR_USES
};

/* Raises the limit to the hard one.  Returns what it is then. */
unsigned long descriptors_raise_limit(void);
/* At most N descriptors may be open.  Of those some are kept back for who does not ask here: ELF
 * files, the output.  Before other threads begin. */
void descriptors_set_limit(unsigned long n);
/* FD, a new descriptor or a negative errno.  Where too few are left for its USE it is closed, and
 * -EMFILE is returned. */
int descriptor_keep(int fd, enum descriptor_use use);
/* Do processes take what is kept for new ones?  Then threads should close theirs.  ANY is an open
 * descriptor. */
bool descriptors_are_short(int any);
