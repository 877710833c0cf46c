/* An ELF file; the same as memory; the same as an object of a JIT compiler. */
#include "tests/fuzz/elf_input.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct elf_file *f = elf_input_open(bytes, len);
    if (f)
        elf_input_use(f);
    elf_file_free(f);
    f = elf_input_map(bytes, len);
    if (f)
        elf_input_use(f);
    elf_file_free(f);
    f = elf_input_object(bytes, len);
    if (f)
        elf_input_use(f);
    elf_file_free(f);
    return 0;
}
