/* Names in ELF files that may be hostile. */
#pragma once

#include <libelf.h>
#include <stddef.h>

/* The string that begins at AT of ELF's section of strings SECTION, as elf_strptr(3) has it, and as
 * long as ELF; NULL: there is none, it has more than 64 KiB, or the section is packed.  elf_strptr
 * unpacks such a section whatever its size, and reads each one from its end at each call. */
const char *elf_string(Elf *elf, size_t section, size_t at);
