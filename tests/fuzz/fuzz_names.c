/* Symbol tables, DWARF and compressed symbols of an ELF file, as code is named from them. */
#include <unistd.h>

#include "symbolizer/dwarf_names.h"
#include "symbolizer/module_names.h"
#include "tests/fuzz/elf_input.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct elf_file *file = elf_input_open(bytes, len);
    if (!file)
        return 0;
    struct location found[MAX_INLINED + 1];
    struct profile *profile = profile_new(0);
    struct debug_search *search = debug_search_new(getpid());
    struct module_names *names = module_names_open(file, "", search, profile);
    for (uint64_t addr = 0; addr < 0x1800; addr += 53)
        FUZZ_CHECK(module_names_find(names, addr, 0, found) <= MAX_INLINED + 1);
    module_names_close(names);
    debug_search_free(search);
    profile_free(profile);
    elf_file_free(file);
    return 0;
}
