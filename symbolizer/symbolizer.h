/* Names for native frames: function, file and line with inlined calls expanded, through libdw; else
 * .symtab, .dynsym, .gnu_debugdata; separate debug files by build id and debuglink; debuginfod only
 * if DEBUGINFOD_URLS is set.  C++ and Rust names are demangled.  Never invents: a symbol names only
 * addresses inside its size (of assembly symbols without one: up to the next symbol of its
 * section). Source: elfutils libdw.h, DWARF 5 §3.3; docs/symbols.md. */
#pragma once

#include "profile/profile.h"
#include "target/modules.h"

struct symbolizer;
struct symbolizer *symbolizer_new(struct profile *profile,
                                  pid_t pid); /* pid: /proc/PID/root for debug files */
/* M of the profile is this module of the target.  Borrows both for the symbolizer's life. */
void symbolizer_add_module(struct symbolizer *s, module_id m, struct modules *modules,
                           struct module *module);
/* Which functions of the interpreter are its own plumbing: IS_PLUMBING is asked for every location of
 * frames with FRAME_IS_INTERPRETER, IS_JIT_PLUMBING for those with FRAME_IS_JIT, with the name as shown;
 * sets location.plumbing.  NULL (as at first): none. */
void symbolizer_set_plumbing(struct symbolizer *s, bool (*is_plumbing)(const char *function),
                             bool (*is_jit_plumbing)(const char *function));
/* What the target's JIT compiler now says (symbolizer/perf_map.h) that code at ADDR, outside all modules'
 * files, is.  None: nothing (yet). */
string_id symbolizer_jit_name(struct symbolizer *s, uint64_t addr);
/* May symbolizer_jit_name() say something else than it did?  Cheap when called often. */
bool symbolizer_jit_changed(struct symbolizer *s);
/* Code outside all modules' files was met at ADDR: FRAME, for which symbolizer_jit_name() is asked, if it has no
 * name of its own, whenever the map has changed, and in symbolizers_run(). */
void symbolizer_add_jit_frame(struct symbolizer *s, frame_id frame, uint64_t addr);
/* How many of those frames have no name still, and lie in executable memory of no file as of MAPS. */
struct maps;
size_t symbolizer_nameless(const struct symbolizer *s, const struct maps *maps);
/* The process runs another program. */
void symbolizer_exec(struct symbolizer *s);
/* Names all native frames of the modules that were added to the N symbolizers at ALL, of one profile, and that have no
 * location yet; a file that several processes have is read once.  A frame that has no name stays without.  ON_PROGRESS may
 * be NULL; it is called after each frame with a share in [0, 1], and says whether to go on.  The target may run, or be
 * gone.  Debug files are open only during the call. */
void symbolizers_run(struct symbolizer *const *all, size_t n,
                     bool (*on_progress)(void *ctx, double share), void *ctx);
/* Begins the same in a thread of its own, which the target's sampling does not wait for; of files only, not of images made
 * of the target's memory, and without ON_PROGRESS.  NULL: there is nothing to name, or no thread to be had.  Until
 * naming_go_end() nobody else names with these symbolizers. */
struct naming_go;
struct naming_go *symbolizers_start(struct symbolizer *const *all, size_t n);
bool naming_go_is_done(const struct naming_go *go);
/* Puts what was found into the profile, after one more name at most if it is not done, and frees GO.  Returns how many
 * frames were named.  NULL is fine. */
size_t naming_go_end(struct naming_go *go);
struct symbolizer *symbolizer_free(struct symbolizer *s);
