/* Objects that JIT compilers register with debuggers: ELF files in the target's memory.  Most are
 * relocatable and have section headers only, whose sh_addr says where the code went.  Private to
 * target/.
 * Source: GDB manual "JIT Compilation Interface"; System V gABI, x86-64 psABI "Relocation". */
#pragma once

#include "target/elf_image.h"

/* Where an object's code is: at most MAX ranges, without empty ones and those that wrap around.
 * Reads the headers alone, RET_HEADERS of them.  Returns how many; 0: it has no code, or is no
 * 64-bit x86-64 object. */
size_t elf_object_code(struct mem *mem, const struct addr_range *object, struct addr_range *ret,
                       size_t max, size_t *ret_headers);
/* Makes an ordinary ELF file of the bytes of the object: its type is ET_DYN, symbols and
 * relocated sections are at their addresses (so its bias is 0), code is as it is in memory now,
 * and LAYOUT has a segment for each section of code (up to ELF_MAX_SEGMENTS).  BUDGET: see
 * elf_file.h.  Returns 0, -EFAULT (cannot be read), -ENOEXEC (malformed, or more than
 * MAX_OBJECT_BYTES) or -ENOSPC (more than BUDGET). */
int elf_object_read(struct elf_image *ret, struct elf_layout *layout, struct mem *mem,
                    const struct addr_range *object, struct elf_budget *budget);
