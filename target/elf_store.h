/* The ELF files that a recording has open, each once: processes that run the same program map the
 * same ones.  Not for two threads at once. */
#pragma once

#include "target/elf_file.h"

struct elf_store_counters {
    uint64_t files;  /* kept */
    uint64_t shared; /* times that a kept one served where it would have been opened once more */
};

struct elf_store;
struct elf_store *elf_store_new(void);
/* elf_file_open(), or the kept file that is at PATH still.  The caller frees RET. */
int elf_store_open(struct elf_store *s, struct elf_file **ret, const char *path);
/* Keeps F, which was found to be the right file.  If a kept file is F's twin, F is freed, that
 * one is returned, and RET_KNOWN is true.  The caller frees the returned file. */
struct elf_file *elf_store_keep(struct elf_store *s, struct elf_file *f, bool *ret_known);
/* How many descriptors the users of all files may keep open: the sampler needs the others. */
enum { ELF_STORE_DESCRIPTORS = 32 };
/* May one more be kept?  If so, it is counted until it is returned. */
bool elf_store_take_descriptor(struct elf_store *s);
void elf_store_return_descriptor(struct elf_store *s);
const struct elf_store_counters *elf_store_counters(const struct elf_store *s);
/* Files that others use stay open.  NULL is fine; returns NULL. */
struct elf_store *elf_store_free(struct elf_store *s);
