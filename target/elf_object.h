/* Objects that JIT compilers register with debuggers: ELF files in the target's memory, mostly relocatable,
 * with section headers only, whose sh_addr says where the code went.  Private to target/.
 * Source: GDB manual "JIT Compilation Interface"; System V gABI, x86-64 psABI "Relocation". */
#pragma once

#include "target/elf_image.h"

/* Where an object's code is: at most MAX ranges, without empty ones and such that wrap around.  Reads the
 * headers alone, RET_HEADERS of them.  Returns how many; 0: it has no code, or is no 64-bit x86-64 object. */
size_t elf_object_code(struct mem *mem, const struct addr_range *object, struct addr_range *ret,
                       size_t max, size_t *ret_headers);
/* Makes an ELF file like any other out of the LEN bytes at the object's start: type ET_DYN, symbols and
 * relocated sections at their addresses (so its bias is 0), code as it is in memory now, a segment in
 * LAYOUT for each section of code (up to ELF_MAX_SEGMENTS).  BUDGET: see elf_file.h.  Returns 0,
 * -EFAULT (cannot be read), -ENOEXEC (malformed, or more than MAX_OBJECT_BYTES) or -ENOSPC (more than BUDGET). */
int elf_object_read(struct elf_image *ret, struct elf_layout *layout, struct mem *mem,
                    const struct addr_range *object, struct elf_budget *budget);
