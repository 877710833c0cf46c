/* What an ELF file has of the machine.  ELF_MACHINE is its e_machine; ELF_RELATIVE, ELF_JUMP_SLOT
 * and ELF_GLOB_DAT are types of relocations.  Source: <elf.h>. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __x86_64__
#include "arch/x86_64/elf_machine.h"
#elif defined __aarch64__
#include "arch/aarch64/elf_machine.h"
#endif

/* How many bytes a relocation of TYPE fills, and whether relative to itself.  0: neither unwind
 * tables nor DWARF have this kind. */
size_t elf_relocation_bytes(uint64_t type, bool *ret_relative);
