#include "unwinder/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct cfi {
    Dwarf_CFI *eh;
    Dwarf *dwarf; /* owns debug */
    Dwarf_CFI *debug;
    const uint8_t *search; /* .eh_frame_hdr's table: pairs of int32, sorted; libelf's */
    size_t n_search;
    uint64_t search_base;               /* what its numbers are relative to */
    struct addr_range *debug_functions; /* of .debug_frame, sorted */
    size_t n_debug_functions;
};

enum { SEARCH_ENTRY_BYTES = 8, SEARCH_HEADER_BYTES = 12 };

/* Takes the search table if it has the one form that linkers write. */
static void read_search_table(struct cfi *c, Elf *elf, const GElf_Phdr *ph)
{
    const Elf_Data *data =
        elf_getdata_rawchunk(elf, (int64_t)ph->p_offset, ph->p_filesz, ELF_T_BYTE);
    if (!data || data->d_size < SEARCH_HEADER_BYTES)
        return;
    const uint8_t *hdr = data->d_buf;
    bool usual = hdr[0] == 1 && (hdr[1] & 0x0f) == DW_EH_PE_sdata4 && hdr[2] == DW_EH_PE_udata4 &&
                 hdr[3] == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
    uint32_t n;
    memcpy(&n, hdr + 8, sizeof n);
    if (!usual || n > (data->d_size - SEARCH_HEADER_BYTES) / SEARCH_ENTRY_BYTES)
        return;
    c->search = hdr + SEARCH_HEADER_BYTES;
    c->n_search = n;
    c->search_base = ph->p_vaddr;
}

static void find_search_table(struct cfi *c, Elf *elf)
{
    size_t n;
    GElf_Phdr ph;
    if (elf_getphdrnum(elf, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_GNU_EH_FRAME)
            read_search_table(c, elf, &ph);
}

static int compare_start(const void *a, const void *b)
{
    const struct addr_range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
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

static Elf_Scn *find_section(Elf *elf, const char *name)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr h;
        const char *s = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        if (s && strcmp(s, name) == 0)
            return scn;
    }
    return NULL;
}

static void open_debug_frame(struct cfi *c, Elf *elf)
{
    Elf_Scn *scn = find_section(elf, ".debug_frame");
    if (!scn)
        return;
    c->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL); /* decompresses, if need be */
    c->debug = c->dwarf ? dwarf_getcfi(c->dwarf) : NULL;
    Elf_Data *data = elf_getdata(scn, NULL);
    const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
    if (c->debug && data && ident)
        list_debug_functions(c, data, ident);
}

struct cfi *cfi_open(struct elf_file *f)
{
    struct cfi *c = xcalloc(1, sizeof *c);
    Elf *elf = elf_file_elf(f);
    c->eh = dwarf_getcfi_elf(elf);
    find_search_table(c, elf);
    open_debug_frame(c, elf);
    return c;
}

static uint64_t search_start(const struct cfi *c, size_t i)
{
    int32_t relative;
    memcpy(&relative, c->search + i * SEARCH_ENTRY_BYTES, sizeof relative);
    return c->search_base + (uint64_t)(int64_t)relative;
}

/* The last entry that starts at or before ELF_ADDR, up to where the next one starts. */
static struct addr_range search_function(const struct cfi *c, uint64_t elf_addr)
{
    size_t low = 0, high = c->n_search;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (search_start(c, middle) <= elf_addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return (struct addr_range){0, 0};
    uint64_t start = search_start(c, low - 1);
    uint64_t end = low < c->n_search ? search_start(c, low) : elf_addr + 1;
    return (struct addr_range){start, end - start};
}

static struct addr_range debug_function(const struct cfi *c, uint64_t elf_addr)
{
    for (size_t i = 0; i < c->n_debug_functions; i++)
        if (elf_addr - c->debug_functions[i].start < c->debug_functions[i].len)
            return c->debug_functions[i];
    return (struct addr_range){0, 0};
}

static int find_in(Dwarf_CFI *table, uint64_t elf_addr, uint64_t bias, struct rule *ret)
{
    Dwarf_Frame *frame;
    if (!table || dwarf_cfi_addrframe(table, elf_addr, &frame) != 0)
        return -ENOENT;
    int r = rule_compile(ret, frame, bias);
    free(frame);
    return r;
}

int cfi_find(struct cfi *c, uint64_t elf_addr, uint64_t bias, struct rule *ret,
             struct addr_range *ret_function)
{
    if (find_in(c->eh, elf_addr, bias, ret) == 0) {
        *ret_function = search_function(c, elf_addr);
        return 0;
    }
    if (find_in(c->debug, elf_addr, bias, ret) < 0)
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
    free(c->debug_functions);
    free(c);
    return NULL;
}
