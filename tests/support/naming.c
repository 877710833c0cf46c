#include "tests/support/naming.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

typedef bool (*symbol_visit)(void *ctx, const char *name);

/* Visits the names that cover ELF_ADDR until VISIT says true. */
static bool visit_names(Elf *elf, uint64_t elf_addr, symbol_visit visit, void *ctx)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr h;
        GElf_Sym sym;
        if (!gelf_getshdr(scn, &h) || (h.sh_type != SHT_SYMTAB && h.sh_type != SHT_DYNSYM))
            continue;
        Elf_Data *data = elf_getdata(scn, NULL);
        for (int i = 0; gelf_getsym(data, i, &sym); i++) {
            const char *name = elf_strptr(elf, h.sh_link, sym.st_name);
            if (GELF_ST_TYPE(sym.st_info) == STT_FUNC && elf_addr - sym.st_value < sym.st_size &&
                name && visit(ctx, name))
                return true;
        }
    }
    return false;
}

static bool visit_at(struct modules *modules, uint64_t addr, const char *symbols,
                     symbol_visit visit, void *ctx)
{
    struct module *m = modules_find(modules, addr);
    struct elf_file *f = m ? module_elf(modules, m) : NULL;
    struct elf_file *twin = NULL;
    if (!f)
        return false;
    uint64_t elf_addr = addr - m->bias;
    bool is_program = symbols && m->id == 0;
    if (is_program && elf_file_open(&twin, symbols, NULL) == 0)
        f = twin;
    bool found = visit_names(elf_file_elf(f), elf_addr, visit, ctx);
    elf_file_free(twin);
    return found;
}

static bool equals(void *ctx, const char *name)
{
    return strcmp(ctx, name) == 0;
}

bool naming_is(struct modules *modules, uint64_t addr, const char *symbols, const char *want)
{
    char module[128];
    const struct module *m = modules_find(modules, addr);
    if (m) {
        (void)snprintf(module, sizeof module, m->name[0] == '[' ? "%s" : "[%s]", m->name);
        if (strcmp(module, want) == 0)
            return true;
    }
    return visit_at(modules, addr, symbols, equals, (void *)want);
}

static bool add(void *ctx, const char *name)
{
    text_add(ctx, name);
    return true;
}

void naming_add(struct modules *modules, uint64_t addr, const char *symbols, struct text *out)
{
    if (visit_at(modules, addr, symbols, add, out))
        return;
    const struct module *m = modules_find(modules, addr);
    text_addf(out, "[%s]+%#lx", m ? m->name : "?", (unsigned long)(addr - (m ? m->bias : 0)));
}
