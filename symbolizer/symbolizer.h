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
/* Which functions of the interpreter are its own plumbing: asked for every location of frames with
 * FRAME_IS_INTERPRETER, with the name as shown; sets location.plumbing.  NULL (as at first): none.
 */
void symbolizer_set_plumbing(struct symbolizer *s, bool (*is_plumbing)(const char *function));
/* Names all native frames of the added modules that have no location yet.  A frame that has no name
 * stays without.  ON_PROGRESS may be NULL; it is called now and then with a share in [0, 1].  The
 * target may run, or be gone.  Debug files are open only during the call. */
void symbolizer_run(struct symbolizer *s, void (*on_progress)(void *ctx, double share), void *ctx);
struct symbolizer *symbolizer_free(struct symbolizer *s);
