/* For arch/elf_machine.h.  Source: ELF for the Arm 64-bit architecture, §5.7. */
#pragma once

#include <elf.h>

enum {
    ELF_MACHINE = EM_AARCH64,
    ELF_RELATIVE = R_AARCH64_RELATIVE,
    ELF_JUMP_SLOT = R_AARCH64_JUMP_SLOT,
    ELF_GLOB_DAT = R_AARCH64_GLOB_DAT
};
