/* One job of naming code of several files.  It shares nothing with the recording but the arguments
 * of naming_add(), so a thread of its own can do it while the target is sampled.  Opening a file is
 * most of the work, so all names wanted of one file are asked for together. */
#pragma once

#include "profile/profile.h"
#include "symbolizer/debug_file.h"
#include "target/elf_file.h"

struct naming;
/* Gets the share that is done, in [0, 1], and returns whether to go on. */
struct naming_progress {
    bool (*go_on)(void *ctx, double share); /* NULL: always */
    void *ctx;
};
struct naming_place {
    uint64_t offset;   /* ELF address of the code */
    uint64_t function; /* where its function begins by CFI; 0: unknown */
};

struct naming *naming_new(void);
/* Adds N more places, ascending, of FILE, which the target mapped from PATH (copied).  SEARCH
 * finds its debug file.  FILE and SEARCH are borrowed for the job. */
void naming_add(struct naming *n, struct elf_file *file, const char *path,
                struct debug_search *search, const struct naming_place *places, size_t count);
/* Does it, in this thread. */
void naming_run(struct naming *n, struct naming_progress progress);
/* Begins the job in a thread of its own, which takes no signals.  Returns 0 or a negative errno
 * of pthread_create(3). */
int naming_start(struct naming *n);
bool naming_is_done(const struct naming *n);
/* Ends the job of naming_start(): waits for one more name at most. */
void naming_stop(struct naming *n);
/* The locations of the I-th place added, *RET_N of them, innermost first.  Their strings are for
 * naming_text().  0: it has no name, or the job was ended before.  Valid as long as N. */
size_t naming_found(const struct naming *n, size_t i, const struct location **ret);
const char *naming_text(const struct naming *n, string_id id);
struct naming *
naming_free(struct naming *n); /* of one that does not run; NULL is fine; returns NULL */
