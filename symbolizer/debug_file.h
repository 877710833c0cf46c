/* Finds the files that hold a module's debug information when it does not itself.  A file is taken
 * only if its build id agrees, or, where the module has none, its CRC.
 * Source: gdb manual "Separate Debug Files"; dwz(1); elfutils libdwelf.h. */
#pragma once

#include <elfutils/libdw.h>
#include <sys/types.h>

#include "target/elf_file.h"

struct debug_search;

/* Below which roots to look: that of PID, held open so that it outlives the process, then ours. */
struct debug_search *debug_search_new(pid_t pid);
/* The separate debug file of MODULE, which is mapped from PATH in the target's mount namespace ("":
 * unknown): by build id, debuglink, and, if DEBUGINFOD_URLS is set, debuginfod.  NULL: none.  The
 * caller frees it. */
struct elf_file *debug_search_find(struct debug_search *s, struct elf_file *module,
                                   const char *path);
/* The file that dwz moved parts of DWARF to, which was read from FILE.  NULL: none needed, or not
 * found.  The caller frees it. */
struct elf_file *debug_search_find_alt(struct debug_search *s, Dwarf *dwarf,
                                       const struct elf_file *file);
struct debug_search *debug_search_free(struct debug_search *s); /* NULL is fine; returns NULL */
