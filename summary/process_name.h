/* The name of a process, and the variables of its environment. */
#pragma once

#include "profile/profile.h"

/* "rank1" where the process says so, else "17001"; "" where there is only one process.  The caller
 * frees it. */
char *name_of_process(const struct profile *p, process_id id);
/* "rank1", "cc1 17001"; "" where there is only one process.  The caller frees it. */
char *label_of_process(const struct profile *p, process_id id);
/* The recorded process that ID is a copy of, made by fork(2) without execve(2); NULL: none. */
const struct profile_process *process_forked_from(const struct profile *p, process_id id);
bool process_is_rank(const struct profile *p, process_id id); /* by process_own_rank() */
/* Its title, tamed and cut: "pt_data_worker", "gunicorn: worker [app]"; "": unknown.  The caller
 * frees it. */
char *title_of_process(const struct profile *p, process_id id);
/* The value of NAME in the kept part of the process's environment, LEN bytes; NULL: not set. */
const char *process_variable(const struct profile *p, process_id id, const char *name,
                             size_t *ret_len);
/* The same of a variable that is a number, of less than 16 digits; NULL: it is not one. */
const char *process_number(const struct profile *p, process_id id, const char *name,
                           size_t *ret_len);
/* The rank that its environment has, a number as above; NULL: none. */
const char *process_rank(const struct profile *p, process_id id, size_t *ret_len);
/* How many ranks its job has, and its rank among those of its host; as process_rank(). */
const char *process_world_size(const struct profile *p, process_id id, size_t *ret_len);
const char *process_local_rank(const struct profile *p, process_id id, size_t *ret_len);
/* The same as process_rank() unless it is its parent's (a rank's DataLoader workers have that), or
 * that of the job whose ranks it launches (torchrun below Slurm). */
const char *process_own_rank(const struct profile *p, process_id id, size_t *ret_len);
