#include "symbolizer/data_names.h"

#include <gelf.h>
#include <string.h>

#include "symbolizer/demangle.h"
#include "target/elf_strings.h"

enum { MAX_NAME_BYTES = 64 << 10 };

/* NULL: it is no variable that ELF_ADDR lies in. */
static const char *name_of(Elf *elf, const GElf_Sym *sym, size_t names, uint64_t elf_addr)
{
    bool defined = sym->st_shndx != SHN_UNDEF && sym->st_shndx < SHN_LORESERVE;
    if (GELF_ST_TYPE(sym->st_info) != STT_OBJECT || !defined || elf_addr < sym->st_value ||
        elf_addr - sym->st_value >= sym->st_size)
        return NULL;
    const char *name = elf_string(elf, names, sym->st_name);
    return name && *name && strnlen(name, MAX_NAME_BYTES) < MAX_NAME_BYTES ? name : NULL;
}

static const char *find_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *table, uint64_t elf_addr)
{
    const char *found = NULL;
    Elf_Data *data = table->sh_entsize == sizeof(Elf64_Sym) ? elf_getdata(scn, NULL) : NULL;
    size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
    for (size_t i = 1; i < n && i <= INT32_MAX; i++) {
        GElf_Sym sym;
        const char *name =
            gelf_getsym(data, (int)i, &sym) ? name_of(elf, &sym, table->sh_link, elf_addr) : NULL;
        if (name && GELF_ST_BIND(sym.st_info) != STB_LOCAL)
            return name;
        found = name ? name : found;
    }
    return found;
}

bool data_name_find(Elf *elf, uint64_t elf_addr, struct text *out)
{
    for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        if (!gelf_getshdr(scn, &header) ||
            (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        const char *name = find_in(elf, scn, &header, elf_addr);
        if (!name)
            continue;
        demangle(name, out);
        return true;
    }
    return false;
}
