/* The names of the global variables that the locks of a recording are. */
#pragma once

#include "worker/target_process.h"

/* Tells S's profile the names of the locks that its threads were seen to hold. */
void lock_names_report(struct target_process *s);
/* "db", of the variable at ADDR; "": there is none in a file.  The caller frees it. */
char *lock_name_at(struct target_process *s, uint64_t addr);
