#include "arch/elf_machine.h"

size_t elf_relocation_bytes(uint64_t type, bool *ret_relative)
{
    *ret_relative = type == R_AARCH64_PREL64 || type == R_AARCH64_PREL32;
    if (type == R_AARCH64_ABS64 || type == R_AARCH64_PREL64)
        return 8;
    return type == R_AARCH64_ABS32 || type == R_AARCH64_PREL32 ? 4 : 0;
}
