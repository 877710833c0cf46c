/* The list of modules from within, for modules.c, module_elf.c, jit_modules.c and environ.c. */
#pragma once

#include "base/duty_cycle.h"
#include "base/hash.h"
#include "target/elf_store.h"
#include "target/jit_list.h"
#include "target/module_open.h"
#include "target/modules.h"

enum { MAX_JIT_LISTS = 8 };                         /* each copy of LLVM has one */
enum { MAX_MODULES = MAX_JIT_OBJECTS + (1 << 16) }; /* each is kept until the end */

/* A module as users see it, and what only these files know of it. */
struct module_entry {
    struct module module; /* first, so that a module is an entry */
    struct module_source source;
    bool tried;        /* to open the ELF file */
    bool tried_memory; /* to make an image, without one */
    char *path;
    struct jit_object object; /* the JIT compiler's; entry 0: it has a mapping of its own */
    struct addr_range *code;  /* of the object, once they have been read */
    size_t n_code;
};

struct active {
    uint64_t start, end;
    struct module_entry *entry;
    int64_t seen_ns; /* when it was last seen to be mapped there; for modules with a mapping */
};

struct modules {
    pid_t pid;
    struct mem *mem;
    struct maps maps;
    int maps_fd;     /* for modules_replaced(); −1: not open */
    bool keeps_maps; /* open, as elf_store_take_descriptor() permits */
    bool cannot_ask;
    struct module_entry **entries; /* by id */
    size_t n, capacity;
    struct elf_store *files;     /* the files of the entries */
    struct elf_store *own_files; /* the same, unless modules_share() gave others; else NULL */
    struct index by_place;
    struct active *active; /* the present mappings: by address, not overlapping */
    size_t active_n, active_capacity;
    struct active *asked; /* the last one in modules_replaced(); NULL: none yet */
    uint32_t generation;  /* of the maps, that ACTIVE was made of; 0: none */
    int64_t read_ns;      /* when these were read */
    uint64_t active_hash;
    uint32_t active_generation; /* counts the changes of ACTIVE */
    struct jit_list lists[MAX_JIT_LISTS];
    size_t n_lists;
    struct map by_link;     /* of the objects registered now: address of the link → id */
    struct active *objects; /* their code, as ACTIVE */
    size_t objects_n, objects_capacity;
    size_t n_sought, n_objects_ever;
    bool objects_left;         /* to be read: there were too many at once */
    struct duty_cycle reading; /* of the lists */
    uint32_t objects_generation;
    struct module_counters counters;
};

/* The address of the symbol NAME of a module that is mapped, from its file.  If that cannot be
 * opened and no image has been made, it comes from memory, where exported symbols are.  Returns
 * 0 or -ENOENT. */
int modules_symbol(struct modules *m, struct module_entry *e, const char *name, uint64_t *ret);
