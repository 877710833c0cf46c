/* Names for native frames: function, file and line, with inlined calls expanded.  They come from
 * DWARF, through libdw, else from .symtab, .dynsym and .gnu_debugdata.  Separate debug files are
 * found by build id and debuglink, and by debuginfod only if DEBUGINFOD_URLS is set.  C++ and Rust
 * names are demangled.  Nothing is invented: a symbol names only addresses inside its size.  One of
 * assembly without a size reaches to the next symbol of its section.
 * Source: elfutils libdw.h, DWARF 5 §3.3; docs/symbols.md. */
#pragma once

#include "base/hash.h"
#include "base/text.h"
#include "profile/profile.h"
#include "symbolizer/naming.h"
#include "target/modules.h"

struct symbolizer;
struct symbolizer *symbolizer_new(struct profile *profile,
                                  pid_t pid); /* pid: /proc/PID/root for debug files */
/* M of the profile is this module of the target.  Borrows both for the symbolizer's life. */
void symbolizer_add_module(struct symbolizer *s, module_id m, struct modules *modules,
                           struct module *module);
/* Which functions are internal to the interpreter, by the name as shown; NULL: none. */
struct internal_functions {
    bool (*of_interpreter)(const char *function); /* in frames with FRAME_IS_INTERPRETER */
    bool (*of_jit)(const char *function);         /* with FRAME_IS_JIT */
    /* With FRAME_IS_EMBEDDING; FILE: the source; "": unknown. */
    bool (*of_program)(const char *function, const char *file);
};
/* These set location.internal from now on; at first there are none. */
void symbolizer_set_internal(struct symbolizer *s, struct internal_functions internal);
/* The name that the target's JIT compiler now gives (symbolizer/perf_map.h) to code at ADDR,
 * outside all modules' files.  None: it gives none, or not yet. */
string_id symbolizer_jit_name(struct symbolizer *s, uint64_t addr);
/* May symbolizer_jit_name() give another name than it gave last?  Cheap when called often. */
bool symbolizer_jit_changed(struct symbolizer *s);
/* FRAME is of code at ADDR, outside all modules' files.  If FRAME has no name of its own,
 * symbolizer_jit_name() looks for one whenever the map has changed, and in symbolizers_run(); of
 * 65,536 frames at a time. */
void symbolizer_add_jit_frame(struct symbolizer *s, frame_id frame, uint64_t addr);
/* How many of those frames still have no name and lie, by MAPS, in executable memory of no file. */
struct maps;
size_t symbolizer_nameless(const struct symbolizer *s, const struct maps *maps);
/* How many frames were more than these 65,536, so that no name is looked for again.  0 where the
 * compiler writes no names at all, because none is missed then. */
uint64_t symbolizer_unqueued(const struct symbolizer *s);
/* The process runs another program. */
void symbolizer_exec(struct symbolizer *s);
/* Files of which naming crashed or hung (symbolizer/naming.h).  Nobody tries them again. */
struct name_faults {
    struct map files;  /* by a key of theirs */
    struct text which; /* "libx.so (Segmentation fault)", and how many others; "": none */
    size_t n;
    uint64_t frames; /* without a name because of them, by the last job */
};
void name_faults_release(struct name_faults *f);
/* Names all native frames, without a location yet, of the modules that were added to the N
 * symbolizers at ALL, which are of one profile.  A file that several processes have is read
 * once, and a place that they all ran is looked up once.  ON_PROGRESS may be NULL; see
 * naming.h.  The target may run, or be gone.  Debug files are open only during the call. */
void symbolizers_run(struct symbolizer *const *all, size_t n, struct naming_quiet quiet,
                     struct name_faults *faults, bool (*on_progress)(void *ctx, double share),
                     void *ctx);
/* Begins the same in a child process, for which sampling does not wait.  NULL: there is nothing to
 * name, it is not quiet, or the child could not be started.  Until naming_job_end() nobody else
 * names with these symbolizers. */
struct naming_job;
struct naming_job *symbolizers_start(struct symbolizer *const *all, size_t n,
                                     struct naming_quiet quiet, struct name_faults *faults);
bool naming_job_is_done(struct naming_job *job); /* takes what was found; as naming_is_done() */
/* Puts the names that were found into the profile and frees JOB.  If it is not done, it is ended.
 * Returns how many frames were named.  NULL is fine. */
size_t naming_job_end(struct naming_job *job);
struct symbolizer *symbolizer_free(struct symbolizer *s);
