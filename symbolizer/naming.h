/* One job of naming code of several files.  libdw and the demangler read what anybody may have
 * made, so a forked child does it (base/child.h): if that crashes or hangs, the file that it worked
 * on is left out, and another child does the rest.  A child for each job, not one that lives as
 * long as the recording: nothing is kept from job to job anyway, because opening files is most of
 * the work and all names wanted of one file are asked for together; and a fork has the files, and
 * images of the target's memory, without sending them. */
#pragma once

#include "profile/profile.h"
#include "symbolizer/debug_file.h"
#include "symbolizer/module_names.h"
#include "target/elf_file.h"

struct naming;
/* Gets the share that is done, in [0, 1], after each look-up, and now and then while nothing is
 * found.  Returns whether to go on. */
struct naming_progress {
    bool (*go_on)(void *ctx, double share); /* NULL: always */
    void *ctx;
};
/* A copied address space makes other threads fault: called around each fork. */
struct naming_quiet {
    bool (*begin)(void *ctx); /* NULL: nobody minds.  False: it is not quiet; END is not called */
    void (*end)(void *ctx);
    void *ctx;
};
struct naming_place {
    uint64_t offset;   /* ELF address of the code */
    uint64_t function; /* where its function begins by CFI; 0: unknown */
};
typedef size_t naming_find(struct module_names *names, uint64_t elf_addr, uint64_t function,
                           struct location *ret);

/* QUIET: its context is borrowed. */
struct naming *naming_new(struct naming_quiet quiet);
/* For a test: FIND in the place of module_names_find(), and a child hangs that says nothing for
 * PATIENCE_NS. */
void naming_pretend(struct naming *n, naming_find *find, int64_t patience_ns);
/* Adds N more places, ascending, of FILE, which the target mapped from PATH (copied).  SEARCH
 * finds its debug file.  FILE and SEARCH are borrowed for the job. */
void naming_add(struct naming *n, struct elf_file *file, const char *path,
                struct debug_search *search, const struct naming_place *places, size_t count);
/* Does it, and waits for it; in this process where there can be no other. */
void naming_run(struct naming *n, struct naming_progress progress);
/* Begins the job.  Returns 0, -EBUSY (it is not quiet), or a negative errno of fork(2). */
int naming_start(struct naming *n);
/* Takes what was found so far.  Is the job of naming_start() done, or has its child failed?  Call
 * it at least once a second. */
bool naming_is_done(struct naming *n);
/* Ends the job of naming_start(); what was found until now counts. */
void naming_stop(struct naming *n);
/* The locations of the I-th place added, *RET_N of them, innermost first.  Their strings are for
 * naming_text().  0: it has no name, or the job was ended before.  Valid as long as N. */
size_t naming_found(const struct naming *n, size_t i, const struct location **ret);
const char *naming_text(const struct naming *n, string_id id);
/* Why nobody looked for the name of the I-th place: what became of a child at its file ("it took
 * too long").  NULL: somebody did, or the job was ended before. */
const char *naming_fault(const struct naming *n, size_t i);
struct naming *
naming_free(struct naming *n); /* of one that does not run; NULL is fine; returns NULL */
