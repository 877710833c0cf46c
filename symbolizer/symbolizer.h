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
/* Names all native frames of the added modules that have no location yet.  ON_PROGRESS may be NULL;
 * it is called now and then with a share in [0, 1]. */
void symbolizer_run(struct symbolizer *s, void (*on_progress)(void *ctx, double share), void *ctx);
struct symbolizer *symbolizer_free(struct symbolizer *s);
