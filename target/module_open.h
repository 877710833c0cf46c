/* Finds the ELF file of a mapped module and makes sure that it is the right one.  Private to
 * target/. */
#pragma once

#include "target/elf_store.h"
#include "target/modules.h"

/* The facts known about the module's mapping. */
struct module_source {
    pid_t pid;
    struct mem *mem;
    struct mapping mapping;   /* its lowest; path is module_source's user's to keep */
    uint64_t head;            /* mapped address of file offset 0; 0: not mapped now */
    struct build_id build_id; /* in the mapped memory; len 0: none, or unknown */
};

/* Opens it, or takes it from FILES, where it may be open already.  Returns NULL, and MODULE_NONE in
 * RET, if no file is surely the same. */
struct elf_file *module_open(const struct module_source *source, struct elf_store *files,
                             enum module_origin *ret);
/* An image of it; NULL: none can be made.  BUDGET: see elf_file.h. */
struct elf_file *module_from_memory(const struct module_source *source, struct elf_budget *budget);
/* The address of the symbol NAME, which the module exports, by its tables in memory: no image is
 * made.  Returns 0 or -ENOENT. */
int module_exported(const struct module_source *source, const char *name, uint64_t *ret);
/* The program headers of the ELF file mapped at HEAD, with the bias, and its build id in memory
 * (LEN 0: none).  Returns 0 or -ENOEXEC. */
struct elf_layout;
int module_layout(struct mem *mem, uint64_t head, struct elf_layout *ret, uint64_t *ret_bias,
                  struct build_id *ret_id);
