/* Where and how a recording was made, for the output's "wallspy" block. */
#pragma once

#include <sys/types.h>

#include "profile/profile.h"

/* Host, kernel, the time it began (UTC), as of now. */
void facts_of_host(struct profile *p);
/* The few variables of PID's environment that change how fast a program runs; nothing else of it is
 * kept.  KEY: a literal. */
void facts_of_environment(struct profile *p, pid_t pid, const char *key);
