#include "unwinder/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/search.h"
#include "unwinder/cfi_check.h"
#include "unwinder/eh_frame.h"

struct cfi {
    struct eh_frame eh_frame;
    Dwarf_CFI *eh;
    Dwarf *dwarf; /* owns debug */
    Dwarf_CFI *debug;
    struct addr_range *debug_functions; /* of .debug_frame, sorted */
    size_t n_debug_functions;
};

static int compare_start(const void *a, const void *b)
{
    const struct addr_range *x = a, *y = b;
    return compare_u64(x->start, y->start);
}

/* An FDE of .debug_frame begins with two plain addresses: start and length. */
static void list_debug_functions(struct cfi *c, Elf_Data *data, const unsigned char *ident)
{
    size_t capacity = 0;
    Dwarf_CFI_Entry entry;
    for (Dwarf_Off at = 0, next;; at = next) {
        next = (Dwarf_Off)-1;
        int r = dwarf_next_cfi(ident, data, false, at, &next, &entry);
        if (r > 0 || next == (Dwarf_Off)-1 || next <= at)
            break;
        struct addr_range range;
        if (r < 0 || dwarf_cfi_cie_p(&entry) ||
            (size_t)(entry.fde.end - entry.fde.start) < sizeof range)
            continue;
        memcpy(&range, entry.fde.start, sizeof range);
        c->debug_functions =
            array_reserve(c->debug_functions, &capacity, c->n_debug_functions + 1, sizeof range);
        c->debug_functions[c->n_debug_functions++] = range;
    }
    if (c->n_debug_functions)
        qsort(c->debug_functions, c->n_debug_functions, sizeof *c->debug_functions, compare_start);
}

/* The one section that libdw can take for .debug_frame; NULL also if there are several.  libdw
 * accepts more names (.zdebug_frame, .debug_frame.dwo, .gnu.debuglto_.debug_frame), and chooses by
 * what it makes of each one's content.
 * Source: libdw/dwarf_begin_elf.c of elfutils 0.188. */
static Elf_Scn *find_debug_frame(Elf *elf)
{
    Elf_Scn *found = NULL;
    size_t names;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr h;
        const char *s = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        if (!s || !strstr(s, "debug_frame"))
            continue;
        if (found || strcmp(s, ".debug_frame") != 0 || h.sh_flags & SHF_GROUP)
            return NULL;
        found = scn;
    }
    return found;
}

/* The section's bytes as libdw has them, once it has looked at SCN.  NULL: they could not be
 * decompressed. */
static Elf_Data *data_of(Elf_Scn *scn)
{
    GElf_Shdr h;
    return gelf_getshdr(scn, &h) && !(h.sh_flags & SHF_COMPRESSED) ? elf_getdata(scn, NULL) : NULL;
}

/* libdw reads it from its beginning on. */
static bool is_sound(const Elf_Data *data)
{
    struct cfi_section section = {.bytes = data->d_buf, .len = data->d_size};
    bool ret = section.bytes && cfi_check_all(&section);
    cfi_section_release(&section);
    return ret;
}

static void open_debug_frame(struct cfi *c, Elf *elf)
{
    Elf_Scn *scn = find_debug_frame(elf);
    if (!scn || !elf_unpacks_little(elf))
        return;
    c->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL); /* decompresses, if need be */
    Elf_Data *data = data_of(scn);
    const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
    if (!c->dwarf || !data || !ident || !is_sound(data))
        return;
    c->debug = dwarf_getcfi(c->dwarf);
    if (c->debug)
        list_debug_functions(c, data, ident);
}

struct cfi *cfi_open(struct elf_file *f)
{
    struct cfi *c = xcalloc(1, sizeof *c);
    Elf *elf = elf_file_elf(f);
    eh_frame_init(&c->eh_frame, elf);
    if (c->eh_frame.ask != EH_FRAME_NEVER)
        c->eh = dwarf_getcfi_elf(elf);
    open_debug_frame(c, elf);
    return c;
}

static struct addr_range debug_function(const struct cfi *c, uint64_t elf_addr)
{
    size_t n = COUNT_UP_TO(c->debug_functions, c->n_debug_functions, start, elf_addr);
    if (n && elf_addr - c->debug_functions[n - 1].start < c->debug_functions[n - 1].len)
        return c->debug_functions[n - 1];
    return (struct addr_range){0, 0};
}

static int find_in(Dwarf_CFI *table, uint64_t elf_addr, struct rule *ret)
{
    Dwarf_Frame *frame;
    if (!table || dwarf_cfi_addrframe(table, elf_addr, &frame) != 0)
        return -ENOENT;
    int r = rule_compile(ret, frame);
    free(frame);
    return r;
}

int cfi_find(struct cfi *c, uint64_t elf_addr, struct rule *ret, struct addr_range *ret_function)
{
    if (eh_frame_may_ask(&c->eh_frame, elf_addr) && find_in(c->eh, elf_addr, ret) == 0) {
        *ret_function = eh_frame_function(&c->eh_frame, elf_addr);
        return 0;
    }
    if (find_in(c->debug, elf_addr, ret) < 0)
        return -ENOENT;
    *ret_function = debug_function(c, elf_addr);
    return 0;
}

struct cfi *cfi_free(struct cfi *c)
{
    if (!c)
        return NULL;
    if (c->eh)
        dwarf_cfi_end(c->eh);
    if (c->dwarf)
        dwarf_end(c->dwarf);
    eh_frame_release(&c->eh_frame);
    free(c->debug_functions);
    free(c);
    return NULL;
}
