/* Rebuilds the loaded part of an ELF file from a process's memory.  Private to target/. */
#pragma once

#include "target/elf_layout.h"
#include "target/mem.h"

struct elf_image {
    uint8_t *bytes; /* by file offset; bytes that could not be read are zero */
    size_t len;
    uint64_t bias; /* address in memory − ELF address */
};

/* The ELF header lies at BASE.  LAYOUT gets the segments, with file_bytes cut to what was
 * copied.  The image has no section headers unless they are mapped.  BUDGET: see elf_file.h.
 * Returns 0, -EFAULT, -ENOEXEC, or -ENOSPC (BUDGET is spent). */
int elf_image_read(struct elf_image *ret, struct elf_layout *layout, struct mem *mem, uint64_t base,
                   struct elf_budget *budget);
/* Makes the image read-only: private memory that can be written counts against RLIMIT_DATA. */
void elf_image_seal(const struct elf_image *image);
void elf_image_release(struct elf_image *image);
