/* Where and how a recording was made, and its counters, for the output's "wallspy" block. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"
#include "profile/profile.h"
#include "sampler/sampler.h"
#include "target/elf_store.h"
#include "target/modules.h"
#include "target/sched_group.h"
#include "unwinder/unwinder.h"

/* Host, kernel, the time it began (UTC), as of now. */
void metadata_of_host(struct profile *p);
/* The few variables of PID's environment that change how fast a program runs, and no others.
 * Returns whether it could be read; RET may be none: it has none of them. */
bool metadata_environment(struct profile *p, pid_t pid, string_id *ret);
/* Appends VARIABLE, "NAME=value", as one word behind those of ENVIRONMENT: white space, control
 * characters and backslashes of it become \xNN, so that no value looks like another variable. */
void metadata_add_variable(struct text *environment, const char *variable);

/* Does STRING, "NAME=value", name a rank? */
bool metadata_is_rank(const char *string);

/* Puts a process's count into the profile: set for the first process, added for the others, so that
 * the same profile can be reported again. */
typedef void (*metadata_put)(struct profile *p, enum metric m, double value);
void metadata_of_unwinder(struct profile *p, const struct unwind_counters *c, metadata_put put);
/* How often S, made as CONFIG asks, looked in SECONDS, and how long its holds were. */
void metadata_of_rate(struct profile *p, const struct sampler_config *config,
                      const struct sampler *s, double seconds);
/* The processes that nice does not weigh against wallspy's threads (target/sched_group.h). */
struct apart {
    size_t n;
    enum sched_apart first; /* what the first of them is in */
};
void metadata_of_priority(struct profile *p, const struct sampler *s, const struct apart *apart);
void metadata_of_sampler(struct profile *p, const struct sampler_counters *c);
void metadata_of_files(struct profile *p, const struct elf_store *files);
void metadata_of_modules(struct profile *p, const struct modules *modules, metadata_put put);
