/* The names of the global variables that the locks of a recording are. */
#pragma once

#include "profile/profile.h"
#include "waits/wait_host.h"

/* Tells P the names of the locks that threads of S were seen to hold. */
void lock_names_report(struct profile *p, const struct wait_target *s);
/* Tells P which variable of S the lock at ADDR is, if P wants to know it. */
void lock_name_add(struct profile *p, const struct wait_target *s, uint64_t addr);
