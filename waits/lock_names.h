/* The names of the global variables that the locks of a recording are. */
#pragma once

#include "profile/profile.h"
#include "waits/wait_host.h"

/* Tells P the names of the locks that threads of S were seen to hold. */
void lock_names_report(struct profile *p, const struct wait_target *s);
/* "db", of the variable at ADDR; "": there is none in a file.  The caller frees it. */
char *lock_name_at(const struct wait_target *s, uint64_t addr);
