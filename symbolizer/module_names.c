#include "symbolizer/module_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "symbolizer/demangle.h"
#include "symbolizer/dwarf_names.h"
#include "symbolizer/mini_debug.h"
#include "symbolizer/symtab.h"

struct module_names {
    struct elf_file *file;        /* borrowed */
    struct elf_file *debug, *alt; /* NULL: none */
    struct mini_debug mini;
    struct profile *profile;
    Dwarf *alt_dwarf;
    struct dwarf_names *dwarf; /* NULL: none */
    struct symtab *symtab;     /* NULL until first needed */
    const uint64_t *wanted;    /* borrowed; NULL: any */
    size_t n_wanted;
    struct text mangled, shown;
};

/* Takes the DWARF in FILE, if there is any. */
static void take_dwarf(struct module_names *m, struct elf_file *file, struct debug_search *search)
{
    Dwarf *dwarf = dwarf_begin_elf(elf_file_elf(file), DWARF_C_READ, NULL);
    if (!dwarf)
        return;
    m->alt = debug_search_find_alt(search, dwarf, file);
    if (m->alt)
        m->alt_dwarf = dwarf_begin_elf(elf_file_elf(m->alt), DWARF_C_READ, NULL);
    if (m->alt_dwarf)
        dwarf_setalt(dwarf, m->alt_dwarf);
    m->dwarf = dwarf_names_open(dwarf, m->file, m->profile);
}

static void close_alt(struct module_names *m)
{
    if (m->alt_dwarf)
        (void)dwarf_end(m->alt_dwarf);
    m->alt_dwarf = NULL;
    m->alt = elf_file_free(m->alt);
}

struct module_names *module_names_open(struct elf_file *file, const char *path,
                                       struct debug_search *search, struct profile *profile)
{
    struct module_names *m = xcalloc(1, sizeof *m);
    m->file = file;
    m->profile = profile;
    take_dwarf(m, file, search);
    if (!m->dwarf) {
        close_alt(m);
        m->debug = debug_search_find(search, file, path);
        if (m->debug)
            take_dwarf(m, m->debug, search);
    }
    if (trace_want(TRACE_SYM))
        trace(TRACE_SYM, "%s: %s, debug file %s", path, m->dwarf ? "DWARF" : "no DWARF",
              m->debug ? elf_file_path(m->debug) : "none");
    return m;
}

void module_names_want(struct module_names *m, const uint64_t *wanted, size_t n)
{
    m->wanted = wanted;
    m->n_wanted = n;
}

static void load_symtab(struct module_names *m)
{
    m->symtab = symtab_new(m->wanted, m->n_wanted);
    if (m->debug)
        symtab_add_elf(m->symtab, elf_file_elf(m->debug));
    symtab_add_elf(m->symtab, elf_file_elf(m->file));
    if (elf_file_fd(m->file) < 0)
        symtab_add_exported(m->symtab, m->file);
    if (mini_debug_open(&m->mini, elf_file_elf(m->file)) == 0)
        symtab_add_elf(m->symtab, m->mini.elf);
    symtab_finish(m->symtab);
}

/* Puts what the symbols call ELF_ADDR into M->shown. */
static bool find_symbol(struct module_names *m, uint64_t elf_addr, bool *ret_exported)
{
    if (!m->symtab)
        load_symtab(m);
    if (!symtab_find(m->symtab, elf_addr, &m->mangled, ret_exported))
        return false;
    demangle(m->mangled.s, &m->shown);
    return true;
}

/* libc's DWARF calls read() __GI___libc_read: where a function has an exported name with fewer
 * underscores, or an as plain but shorter one, that is what its callers wrote.  "__GI_" is libc's mark
 * for what it calls itself: of such a function any other name will do (__clone3). */
static void prefer_exported(struct module_names *m, uint64_t elf_addr, struct location *l)
{
    const char *name = profile_text(m->profile, l->function);
    size_t underscores = strspn(name, "_");
    bool exported;
    if (!underscores || !find_symbol(m, elf_addr, &exported))
        return;
    if (!exported && !str_starts(name, "__GI_"))
        return;
    size_t own = strspn(m->shown.s, "_");
    if (own < underscores || (own == underscores && m->shown.len < strlen(name)))
        l->function = profile_string(m->profile, m->shown.s);
}

size_t module_names_find(struct module_names *m, uint64_t elf_addr, struct location *ret)
{
    ret[0] = (struct location){0};
    size_t n = m->dwarf ? dwarf_names_find(m->dwarf, elf_addr, ret) : 0;
    if (n && ret[n - 1].function.ix) {
        prefer_exported(m, elf_addr, &ret[n - 1]);
        return n;
    }
    bool exported;
    if (!find_symbol(m, elf_addr, &exported))
        return 0;
    n = n ? n : 1;
    ret[n - 1].function = profile_string(m->profile, m->shown.s);
    return n;
}

struct module_names *module_names_close(struct module_names *m)
{
    if (!m)
        return NULL;
    m->dwarf = dwarf_names_free(m->dwarf);
    close_alt(m);
    m->symtab = symtab_free(m->symtab);
    mini_debug_release(&m->mini);
    m->debug = elf_file_free(m->debug);
    text_release(&m->mangled);
    text_release(&m->shown);
    free(m);
    return NULL;
}
