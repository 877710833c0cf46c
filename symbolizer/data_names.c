#include "symbolizer/data_names.h"

#include <gelf.h>

#include "symbolizer/demangle.h"
#include "target/elf_strings.h"

enum {
    MAX_SYMBOLS = 4000000, /* of a table: as many as have a range (symbolizer/ranges.h) */
    MAX_ALIASES = 1000,    /* each may have 64 KiB of name */
};

static bool is_variable_at(const GElf_Sym *sym, uint64_t elf_addr)
{
    bool defined = sym->st_shndx != SHN_UNDEF && sym->st_shndx < SHN_LORESERVE;
    return GELF_ST_TYPE(sym->st_info) == STT_OBJECT && defined && elf_addr >= sym->st_value &&
           elf_addr - sym->st_value < sym->st_size;
}

static const char *find_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *table, uint64_t elf_addr)
{
    const char *found = NULL;
    Elf_Data *data = table->sh_entsize == sizeof(Elf64_Sym) ? elf_getdata(scn, NULL) : NULL;
    size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
    size_t aliases = 0;
    for (size_t i = 1; i < n && i <= MAX_SYMBOLS && aliases < MAX_ALIASES; i++) {
        GElf_Sym sym;
        if (!gelf_getsym(data, (int)i, &sym) || !is_variable_at(&sym, elf_addr))
            continue;
        aliases++;
        const char *name = elf_string(elf, table->sh_link, sym.st_name);
        if (!name || !*name)
            continue;
        if (GELF_ST_BIND(sym.st_info) != STB_LOCAL)
            return name;
        found = name;
    }
    return found;
}

/* By the first section of TYPE: a file has one at most (gABI, "Sections"). */
static const char *find_in_first(Elf *elf, GElf_Word type, uint64_t elf_addr)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) && header.sh_type == type)
            return find_in(elf, scn, &header, elf_addr);
    }
    return NULL;
}

bool data_name_find(Elf *elf, uint64_t elf_addr, struct text *out)
{
    const char *name = elf ? find_in_first(elf, SHT_DYNSYM, elf_addr) : NULL;
    if (elf && !name)
        name = find_in_first(elf, SHT_SYMTAB, elf_addr);
    if (name)
        demangle(name, out);
    return name != NULL;
}
