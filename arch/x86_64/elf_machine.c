#include "arch/elf_machine.h"

size_t elf_relocation_bytes(uint64_t type, bool *ret_relative)
{
    *ret_relative = type == R_X86_64_PC64 || type == R_X86_64_PC32;
    if (type == R_X86_64_64 || type == R_X86_64_PC64)
        return 8;
    return type == R_X86_64_32 || type == R_X86_64_32S || type == R_X86_64_PC32 ? 4 : 0;
}
