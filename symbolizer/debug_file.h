/* Finds the separate files that hold a module's debug information.  A file is taken only if its
 * build id agrees, or, where the module has none, its CRC.
 * Source: gdb manual "Separate Debug Files"; dwz(1); elfutils libdwelf.h. */
#pragma once

#include <elfutils/libdw.h>
#include <sys/types.h>

#include "target/elf_file.h"

struct debug_search;

/* Looks below the root of PID, then below ours.  PID's is held open so that it outlives the
 * process, unless it is ours. */
struct debug_search *debug_search_new(pid_t pid);
/* The separate debug file of MODULE, which is mapped from PATH in the target's mount namespace ("":
 * unknown): by build id, debuglink, and, if DEBUGINFOD_URLS is set, debuginfod.  NULL: none.  The
 * caller frees it. */
struct elf_file *debug_search_find(struct debug_search *s, struct elf_file *module,
                                   const char *path);
/* The file to which dwz moved parts of the DWARF of FILE.  NULL: none is needed, or none was
 * found.  The caller frees it. */
struct elf_file *debug_search_find_alt(struct debug_search *s, Dwarf *dwarf,
                                       const struct elf_file *file);
/* As debuginfod_gave_up() and debuginfod_give_up(). */
const char *debug_search_gave_up(const struct debug_search *s);
void debug_search_give_up(struct debug_search *s, const char *why);
struct debug_search *debug_search_free(struct debug_search *s); /* NULL is fine; returns NULL */
