#include "symbolizer/module_names.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "symbolizer/demangle.h"
#include "symbolizer/dwarf_names.h"
#include "symbolizer/mini_debug.h"
#include "symbolizer/symtab.h"

/* The DWARF of a file.  It is read through an Elf of its own where possible, because what libdw
 * unpacks stays in memory for as long as the Elf. */
struct debug_info {
    int fd;   /* gives libdw the folder, for split DWARF; -1: none */
    Elf *elf; /* NULL: the file's own */
    Dwarf *dwarf;
};

struct module_names {
    struct elf_file *file;        /* borrowed */
    struct elf_file *debug, *alt; /* NULL: none */
    struct mini_debug mini;
    struct profile *profile;
    struct debug_info info, alt_info;
    struct dwarf_names *dwarf; /* NULL: none */
    struct symtab *symtab;     /* NULL until first needed */
    const uint64_t *wanted;    /* borrowed; NULL: any */
    size_t n_wanted;
    struct text mangled, shown;
};

static void debug_info_close(struct debug_info *info)
{
    if (info->dwarf)
        (void)dwarf_end(info->dwarf);
    if (info->elf)
        (void)elf_end(info->elf);
    if (info->fd >= 0)
        close(info->fd);
    *info = (struct debug_info){.fd = -1};
}

static bool debug_info_open(struct debug_info *ret, struct elf_file *file)
{
    int fd = elf_file_reopen(file);
    *ret = (struct debug_info){.fd = fd < 0 ? -1 : fd};
    if (fd >= 0)
        ret->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Elf *elf = ret->elf ? ret->elf : elf_file_elf(file);
    if (elf_unpacks_little(elf))
        ret->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (!ret->dwarf)
        debug_info_close(ret);
    return ret->dwarf != NULL;
}

/* Opens the file that INFO, the DWARF of FILE, shares with others (dwz).  False: there is none.
 * Then libdw must not look for it: libdw would take any file at the path. */
static bool take_alt(struct module_names *m, struct elf_file *file, struct debug_search *search)
{
    const char *name;
    const void *id;
    if (dwelf_dwarf_gnu_debugaltlink(m->info.dwarf, &name, &id) <= 0)
        return true;
    m->alt = debug_search_find_alt(search, m->info.dwarf, file);
    if (!m->alt || !debug_info_open(&m->alt_info, m->alt))
        return false;
    dwarf_setalt(m->info.dwarf, m->alt_info.dwarf);
    return true;
}

/* Takes the DWARF in FILE, if there is any. */
static void take_dwarf(struct module_names *m, struct elf_file *file, struct debug_search *search)
{
    if (debug_info_open(&m->info, file) && take_alt(m, file, search))
        m->dwarf = dwarf_names_open(m->info.dwarf, m->info.fd, m->file, m->profile);
}

static void drop_dwarf(struct module_names *m)
{
    m->dwarf = dwarf_names_free(m->dwarf);
    debug_info_close(&m->info);
    debug_info_close(&m->alt_info);
    m->alt = elf_file_free(m->alt);
}

struct module_names *module_names_open(struct elf_file *file, const char *path,
                                       struct debug_search *search, struct profile *profile)
{
    struct module_names *m = xcalloc(1, sizeof *m);
    m->file = file;
    m->profile = profile;
    m->info.fd = m->alt_info.fd = -1;
    take_dwarf(m, file, search);
    if (!m->dwarf) {
        drop_dwarf(m);
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
    if (!elf_file_is_file(m->file))
        symtab_add_exported(m->symtab, m->file);
    if (mini_debug_open(&m->mini, elf_file_elf(m->file)) == 0)
        symtab_add_elf(m->symtab, m->mini.elf);
    symtab_finish(m->symtab);
}

/* Puts what the symbols call ELF_ADDR into M->shown. */
static bool find_symbol(struct module_names *m, uint64_t elf_addr, uint64_t function,
                        bool *ret_exported)
{
    if (!m->symtab)
        load_symtab(m);
    if (!symtab_find(m->symtab, elf_addr, function, &m->mangled, ret_exported))
        return false;
    demangle(m->mangled.s, &m->shown);
    return true;
}

/* libc's DWARF calls read() __GI___libc_read.  Where a function has an exported name with fewer
 * underscores, or one as plain but shorter, its callers wrote that name.  "__GI_" is libc's mark
 * for what it calls itself: any other name of such a function will do (__clone3). */
static void prefer_exported(struct module_names *m, uint64_t elf_addr, uint64_t function,
                            struct location *l)
{
    static const char libc_mark[] = "__GI_";
    const char *name = profile_text(m->profile, l->function);
    const char *plain = str_starts(name, libc_mark) ? name + strlen(libc_mark) : name;
    size_t underscores = strspn(plain, "_");
    bool exported;
    if ((!underscores && plain == name) || !find_symbol(m, elf_addr, function, &exported))
        return;
    if (!exported && plain == name)
        return;
    size_t own = strspn(m->shown.s, "_");
    if (own < underscores || (own == underscores && m->shown.len < strlen(name)))
        l->function = profile_string(m->profile, m->shown.s);
}

static bool ends_in_member(const struct text *qualified, const char *name, size_t len)
{
    return qualified->len > len + 2 &&
           memcmp(qualified->s + qualified->len - len, name, len) == 0 &&
           memcmp(qualified->s + qualified->len - len - 2, "::", 2) == 0;
}

/* Where there are line tables only (clang's -gline-tables-only, rustc's), DWARF has neither
 * linkage names nor the scope around a function, so that two functions of a name would look like
 * one.  The symbol has both.  The symbol of a generic function may lack its arguments. */
static void prefer_qualified(struct module_names *m, uint64_t elf_addr, uint64_t function,
                             struct location *l)
{
    const char *name = profile_text(m->profile, l->function);
    bool exported;
    if (strstr(name, "::") || !find_symbol(m, elf_addr, function, &exported))
        return;
    bool mangled = str_starts(m->mangled.s, "_Z") || str_starts(m->mangled.s, "_R");
    if (mangled && (ends_in_member(&m->shown, name, strlen(name)) ||
                    ends_in_member(&m->shown, name, strcspn(name, "<"))))
        l->function = profile_string(m->profile, m->shown.s);
}

size_t module_names_find(struct module_names *m, uint64_t elf_addr, uint64_t function,
                         struct location *ret)
{
    ret[0] = (struct location){0};
    size_t n = m->dwarf ? dwarf_names_find(m->dwarf, elf_addr, ret) : 0;
    if (n && ret[n - 1].function.ix) {
        prefer_exported(m, elf_addr, function, &ret[n - 1]);
        prefer_qualified(m, elf_addr, function, &ret[n - 1]);
        return n;
    }
    bool exported;
    if (!find_symbol(m, elf_addr, function, &exported))
        return 0;
    n = n ? n : 1;
    ret[n - 1].function = profile_string(m->profile, m->shown.s);
    return n;
}

struct module_names *module_names_close(struct module_names *m)
{
    if (!m)
        return NULL;
    drop_dwarf(m);
    m->symtab = symtab_free(m->symtab);
    mini_debug_release(&m->mini);
    m->debug = elf_file_free(m->debug);
    text_release(&m->mangled);
    text_release(&m->shown);
    free(m);
    return NULL;
}
