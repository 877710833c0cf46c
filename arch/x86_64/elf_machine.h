/* For arch/elf_machine.h.  Source: x86-64 psABI, §4.4. */
#pragma once

#include <elf.h>

enum {
    ELF_MACHINE = EM_X86_64,
    ELF_RELATIVE = R_X86_64_RELATIVE,
    ELF_JUMP_SLOT = R_X86_64_JUMP_SLOT,
    ELF_GLOB_DAT = R_X86_64_GLOB_DAT
};
