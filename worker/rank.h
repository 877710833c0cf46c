/* The rank that a process was given after it began, by a change of its own environment. */
#pragma once

#include <stdint.h>

struct target_process;

struct rank_watch { /* zero-initialise */
    uint64_t address, seen;
    uint32_t maps_generation; /* in which ADDRESS was looked for */
};

/* Looks whether S has set RANK and its kin since the last look: two reads if it has not.  The
 * profile's text of its environment then has what it has set. */
void rank_look(struct target_process *s);
