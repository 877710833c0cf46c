/* Which ELF file is mapped at an address, and where.  Ids stay valid for the whole recording: a
 * module that was unmapped, or mapped anew elsewhere, keeps its entry, so that addresses seen
 * earlier can be named at the end.  The same file mapped again at the same place is the same
 * module.  A file is accepted only if it is surely the one that is mapped: its build id is that
 * in the mapped memory; without one, device and inode, or the table of all functions, are.
 * Tried in this order: /proc/PID/root + path, path, /proc/PID/exe, /proc/PID/map_files, the
 * target's memory.  Code mapped from a file that is no ELF is a module too, without a file.  So
 * is each object that a JIT compiler registers with debuggers, from modules_seek() on.
 * Registered anew it is another module. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/elf_file.h"
#include "target/maps.h"
#include "target/mem.h"

struct module {
    uint32_t id;          /* index; also the order of first sight */
    const char *path;     /* as mapped, "[vdso]" for the vdso; in the target's mount namespace */
    const char *name;     /* its base name: libc.so.6 */
    uint64_t start, end;  /* all its mappings lie in [start, end) */
    uint64_t bias;        /* address = ELF address + bias; 0 while elf is NULL */
    uint64_t head;        /* mapped address of file offset 0; 0 if that is not mapped */
    bool jit;             /* an object that a JIT compiler registered */
    struct elf_file *elf; /* NULL: could not be opened (counted), use module_elf() */
};

enum module_origin {
    MODULE_PATH,
    MODULE_EXE,
    MODULE_MAP_FILES,
    MODULE_MEMORY,
    MODULE_JIT,  /* an object that a JIT compiler registered */
    MODULE_NONE, /* there is no ELF file, or it cannot be read */
    MODULE_ORIGIN_COUNT,
};
struct module_counters {
    uint64_t origins[MODULE_ORIGIN_COUNT]; /* where the ELF files opened came from */
    struct elf_budget images;              /* of MODULE_MEMORY and MODULE_JIT */
};

struct modules;
struct elf_store;

/* Borrows MEM (live).  PID is the process whose /proc entries serve to open files; see
 * mem_live_open(). */
struct modules *modules_new(pid_t pid, struct mem *mem);
/* Opens files through FILES, borrowed, so that processes share them.  Call it before any is
 * opened. */
void modules_share(struct modules *m, struct elf_store *files);
/* Loads the maps again and updates the module list; cheap if nothing changed.  Returns 0 or what
 * maps_load() says. */
int modules_refresh(struct modules *m);
const struct maps *modules_maps(const struct modules *m);
/* The module mapped at ADDR now; NULL: none (anonymous, JIT, unmapped).  Valid as long as M. */
struct module *modules_find(struct modules *m, uint64_t addr);
/* The program that runs; NULL: unknown. */
struct module *modules_executable(struct modules *m);
/* Does the kernel say that another file is mapped at ADDR now than modules_find() says?  The kernel
 * is asked once for each module, unless that was done at SINCE_NS (clock_now_ns()) or later.  False
 * too where it cannot be asked (maps_ask()). */
bool modules_replaced(struct modules *m, uint64_t addr, int64_t since_ns);
/* How often the set of mapped modules has changed. */
uint32_t modules_generation(const struct modules *m);
/* The same as modules_find() for code that it does not know: reads first what JIT compilers in
 * the target have registered.  The first call opens all modules' files, to find the lists, but
 * makes no images. */
struct module *modules_seek(struct modules *m, uint64_t addr);
/* Code at ADDR of an executable mapping as it is in memory now, for code that no file holds.
 * Returns 0 or -EFAULT. */
int modules_read_code(struct modules *m, uint64_t addr, void *buf, size_t len);
/* Reads the lists that modules_seek() found again, if they changed: a system call for each if not.
 * Where the number returned changes, some objects have become modules, or have ended as such. */
uint32_t modules_refresh_objects(struct modules *m);
struct module *modules_get(struct modules *m, uint32_t id);
size_t modules_count(const struct modules *m);
/* Opens the module's ELF file on first use, once.  NULL if there is none.  Valid as long as M. */
struct elf_file *module_elf(struct modules *m, struct module *module);
/* Forgets what is mapped (exec): ids and opened files stay. */
void modules_exec(struct modules *m);
const struct module_counters *modules_counters(const struct modules *m);
struct modules *modules_free(struct modules *m); /* closes all; NULL is fine; returns NULL */
