/* One ELF file, opened once and shared by all who read it: symbols and sections for pyframes/, CFI
 * for unwinder/, DWARF for symbolizer/.  It is backed by a file, or by an image that was rebuilt
 * from the target's memory because no file that is surely the same can be opened.  Not for two
 * threads at once.
 * Source: elf(5), System V gABI; libelf. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

typedef struct Elf Elf; /* libelf's */
struct mem;
struct elf_file;

enum { BUILD_ID_MAX_BYTES = 64 };
struct build_id {
    uint8_t bytes[BUILD_ID_MAX_BYTES];
    size_t len; /* 0: none */
};
/* The memory that images of a target's memory may take together. */
struct elf_budget {
    uint64_t bytes; /* left to copy: half of them for the next image */
    uint64_t cut;   /* images that are not whole, or not there: BYTES was spent */
};
enum {
    ELF_IMAGES_BYTES = 256 << 20
}; /* tables of all of PyTorch's libraries, and most of their code */
struct addr_range {
    uint64_t start, len; /* ELF addresses (as in the file), bytes */
};

/* Opens PATH, which must be a regular file: opening a device or a FIFO has effects, so no other
 * kind is touched.  ERR may be NULL.  Returns 0, a negative errno of open(2), or -ENOEXEC (not a
 * 64-bit x86-64 program or library).  A file that is cut short while open raises SIGBUS where it
 * is read, here or in libdw: see target/elf_guard.h. */
int elf_file_open(struct elf_file **ret, const char *path, struct err *err);
/* Rebuilds an image from the loaded segments of the ELF file whose header lies at BASE in MEM:
 * program headers, unwind tables, .dynsym, build id.  It has no section headers unless they are
 * mapped (the vdso).  The rest beyond BUDGET (NULL: ELF_IMAGES_BYTES) reads as -EFAULT; code gives
 * way first.  MEM is not used later.  Returns 0, -EFAULT, -ENOEXEC, -ENOSPC (BUDGET is spent). */
int elf_file_from_memory(struct elf_file **ret, struct mem *mem, uint64_t base,
                         struct elf_budget *budget);
/* The object that a JIT compiler registered with debuggers.  Its whole file, with section
 * headers, lies in MEM at OBJECT (there, an address in the target).  Relocations are applied,
 * and addresses are the target's.  MEM is not used later.  Returns 0, -EFAULT, -ENOEXEC, -ENOSPC
 * (too large for BUDGET, as above). */
int elf_file_from_object(struct elf_file **ret, struct mem *mem, const struct addr_range *object,
                         struct elf_budget *budget);

/* Would libdw unpack no more of ELF than may lie in memory, 512 MiB of debug sections?  Sections
 * say their size in their headers, .zdebug_ ones in their first bytes. */
bool elf_unpacks_little(Elf *elf);
Elf *elf_file_elf(struct elf_file *f);           /* borrowed */
bool elf_file_is_file(const struct elf_file *f); /* false: from memory */
/* A descriptor of F's file, which the caller closes: F keeps none.  Returns -EBADF (from memory),
 * -ESTALE (another file has its name by now) or the negative errno of open(2). */
int elf_file_reopen(const struct elf_file *f);
/* False: it has none, being from memory. */
bool elf_file_inode(const struct elf_file *f, dev_t *ret_device, ino_t *ret_inode);
const uint8_t *elf_file_bytes(const struct elf_file *f, size_t *ret_len); /* the whole of it */
const char *elf_file_path(const struct elf_file *f); /* the opened path; "" if from memory */
const struct build_id *elf_file_build_id(const struct elf_file *f);
/* Tells one file from another, and from what it was before it was written to.  0: it was read
 * from memory. */
uint64_t elf_file_identity(const struct elf_file *f);
uint64_t elf_identity(const struct stat *st); /* the same, of a file that ST describes */
/* Is F the file that ST describes, as it was when F was opened? */
bool elf_file_is(const struct elf_file *f, const struct stat *st);
/* Do A and B hold the same, so that one will do for both? */
bool elf_file_is_twin(const struct elf_file *a, const struct elf_file *b);
/* Adds another name of F, by which elf_file_reopen() may find it.  The last one added counts. */
void elf_file_add_path(struct elf_file *f, const char *path);

/* The symbol NAME if it is defined here, from .dynsym, then .symtab, of each the first table.
 * Of a thread-local symbol RET holds the offset in the TLS block.  Works without section headers
 * (DT_SYMTAB, DT_GNU_HASH).  Returns 0 or -ENOENT. */
int elf_file_symbol(struct elf_file *f, const char *name, struct addr_range *ret);
/* The same from .dynsym alone: quick also where .symtab is large. */
int elf_file_exported(struct elf_file *f, const char *name, struct addr_range *ret);
/* Calls FN for every named symbol that is defined here, of .dynsym alone; needs no section headers.
 * INFO is st_info of elf(5); NAME stays valid as long as F. */
void elf_file_each_exported(struct elf_file *f,
                            void (*fn)(void *ctx, const char *name, const struct addr_range *where,
                                       uint8_t info),
                            void *ctx);
/* The section NAME.  Returns 0 or -ENOENT. */
int elf_file_section(struct elf_file *f, const char *name, struct addr_range *ret);
/* Bytes at an ELF address, from the file's PT_LOAD contents (bss reads as zero).  Returns 0, or
 * -EFAULT with BUF undefined. */
int elf_file_read(struct elf_file *f, uint64_t elf_addr, void *buf, size_t len);
/* Where a process that runs F starts (e_entry).  Of a library it is 0, or any address. */
uint64_t elf_file_entry(struct elf_file *f);
/* Is ELF_ADDR inside an executable PT_LOAD, behind the file's headers? */
bool elf_file_is_code(struct elf_file *f, uint64_t elf_addr);
/* Bias = mapped address − ELF address, for a mapping of FILE_OFFSET at START.  False: no PT_LOAD
 * there. */
bool elf_file_bias(struct elf_file *f, uint64_t start, uint64_t file_offset, uint64_t *ret);

/* The data that a reader of F has made of it and keeps for all users of F; NULL: none yet. */
void *elf_file_extra(const struct elf_file *f);
/* Sets that, once; FREE_EXTRA is called before F is closed. */
void elf_file_set_extra(struct elf_file *f, void *extra, void (*free_extra)(void *extra));

/* Another user of F: call elf_file_free() once more.  Returns F. */
struct elf_file *elf_file_share(struct elf_file *f);
/* Closes F when its last user does.  NULL is fine; returns NULL. */
struct elf_file *elf_file_free(struct elf_file *f);
