/* An ELF file from within, for elf_file.c and elf_contents.c. */
#pragma once

#include <time.h>

#include "target/elf_dynamic.h"
#include "target/elf_file.h"
#include "target/elf_image.h"
#include "target/elf_layout.h"

/* A file as fstat(2) shows it: another file, or one that was written to, has another state. */
struct elf_file_state {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec modified;
    uid_t owner;
};

struct elf_file {
    size_t users; /* users that have not called elf_file_free() yet */
    Elf *elf;
    char *path;
    char *other_path;     /* the last other name by which it was opened; NULL: none */
    const uint8_t *bytes; /* of the whole file, libelf's; or image.bytes */
    size_t len;
    struct elf_image image; /* if from memory */
    struct elf_layout layout;
    struct build_id build_id;
    uint64_t identity; /* see elf_file_identity(); 0: from memory */
    struct elf_file_state state;
    struct elf_dynamic dynamic;
    bool has_dynamic;
    void *extra; /* see elf_file_extra() */
    void (*free_extra)(void *extra);
};

/* The bytes of the file CTX at a file offset, and at an ELF address: both are an elf_reader. */
int elf_read_offset(void *ctx, uint64_t offset, void *buf, size_t len);
int elf_read_addr(void *ctx, uint64_t elf_addr, void *buf, size_t len);
