#include "unwinder/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/minmax.h"
#include "base/search.h"
#include "target/elf_strings.h"
#include "unwinder/cfi_program.h"

enum { MAX_LISTED_BYTES = 1 << 26, MAX_UNPACKED_BYTES = 1 << 26 };

struct listed_fde {
    uint64_t start, offset;
};

/* A section and what finds an address in it: the linker's search table, or else a list that is made
 * here. */
struct cfi_table {
    struct cfi_section section;
    const uint8_t *search; /* pairs of int32: function, FDE; sorted; libelf's */
    size_t n_search;
    uint64_t search_base; /* what its numbers are relative to */
    struct listed_fde *list;
    size_t n_list;
};

struct cfi {
    struct cfi_table eh, debug;
};

/* ---- finding an FDE ---- */

enum { SEARCH_ENTRY_BYTES = 8 };

/* One half of entry I. */
static uint64_t search_value(const struct cfi_table *t, size_t i, size_t half)
{
    int32_t relative = get_i32(t->search + i * SEARCH_ENTRY_BYTES + half * sizeof relative);
    return t->search_base + (uint64_t)(int64_t)relative;
}

/* The offset of the last FDE that begins at ELF_ADDR or before; none: that of no FDE. */
static uint64_t find_offset(const struct cfi_table *t, uint64_t elf_addr)
{
    size_t low = 0;
    size_t high = t->n_search;
    if (!t->search) {
        size_t n = COUNT_UP_TO(t->list, t->n_list, start, elf_addr);
        return n ? t->list[n - 1].offset : UINT64_MAX;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (search_value(t, middle, 0) <= elf_addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? search_value(t, low - 1, 1) - t->section.addr : UINT64_MAX;
}

static int find_in(const struct cfi_table *t, uint64_t elf_addr, struct rule *ret,
                   struct addr_range *ret_function)
{
    struct cfi_fde fde;
    if (!t->section.bytes || !cfi_read_fde(&t->section, find_offset(t, elf_addr), &fde) ||
        elf_addr - fde.function.start >= fde.function.len)
        return -ENOENT;
    *ret_function = fde.function;
    return cfi_execute(&t->section, &fde, elf_addr, ret);
}

int cfi_find(const struct cfi *c, uint64_t elf_addr, struct rule *ret,
             struct addr_range *ret_function)
{
    if (find_in(&c->eh, elf_addr, ret, ret_function) == 0)
        return 0;
    return find_in(&c->debug, elf_addr, ret, ret_function);
}

static int compare_start(const void *a, const void *b)
{
    const struct listed_fde *x = a, *y = b;
    return compare_u64(x->start, y->start);
}

static void list_functions(struct cfi_table *t)
{
    const struct cfi_section *s = &t->section;
    size_t capacity = 0;
    uint32_t len;
    if (s->len > MAX_LISTED_BYTES)
        return;
    for (uint64_t at = 0; at < s->len && s->len - at > sizeof len; at += sizeof len + len) {
        struct cfi_fde fde;
        len = get_u32(s->bytes + at);
        if (len == 0) /* the terminator */
            break;
        if (!cfi_read_fde(s, at, &fde) || !fde.function.len)
            continue;
        t->list = array_reserve(t->list, &capacity, t->n_list + 1, sizeof *t->list);
        t->list[t->n_list++] = (struct listed_fde){fde.function.start, at};
    }
    if (t->n_list)
        qsort(t->list, t->n_list, sizeof *t->list, compare_start);
}

/* ---- finding the sections ---- */

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *ret)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        const char *s = gelf_getshdr(scn, ret) ? elf_string(elf, names, ret->sh_name) : NULL;
        if (s && strcmp(s, name) == 0)
            return scn;
    }
    return NULL;
}

static void take_bytes(struct cfi_section *s, const Elf_Data *data)
{
    /* Offsets of expressions have 31 bits. */
    if (data && data->d_buf) {
        s->bytes = data->d_buf;
        s->len = data->d_size < INT32_MAX ? data->d_size : INT32_MAX;
    }
}

static bool find_header(Elf *elf, GElf_Phdr *ret)
{
    size_t n;
    if (elf_getphdrnum(elf, &n) < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, ret) && ret->p_type == PT_GNU_EH_FRAME)
            return true;
    return false;
}

/* Takes the search table of .eh_frame_hdr, of the one form that linkers write.  RET_FRAME is where
 * it has .eh_frame; false: it does not say. */
static bool read_header(struct cfi_table *t, Elf *elf, const GElf_Phdr *header, uint64_t *ret_frame)
{
    enum { VERSION, FRAME_ENCODING, COUNT_ENCODING, ENTRY_ENCODING, FRAME_AT = 4, COUNT_AT = 8 };
    enum { ENTRIES_AT = 12 };
    enum { USUAL_FRAME = DW_EH_PE_pcrel | DW_EH_PE_sdata4 };
    enum { USUAL_ENTRY = DW_EH_PE_datarel | DW_EH_PE_sdata4 };
    const Elf_Data *data =
        elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz, ELF_T_BYTE);
    const uint8_t *bytes = data ? data->d_buf : NULL;
    if (!bytes || data->d_size < COUNT_AT || bytes[VERSION] != 1 ||
        bytes[FRAME_ENCODING] != USUAL_FRAME)
        return false;
    *ret_frame = header->p_vaddr + FRAME_AT + (uint64_t)(int64_t)get_i32(bytes + FRAME_AT);
    if (data->d_size < ENTRIES_AT || bytes[COUNT_ENCODING] != DW_EH_PE_udata4 ||
        bytes[ENTRY_ENCODING] != USUAL_ENTRY)
        return true;
    t->n_search = get_u32(bytes + COUNT_AT);
    t->search_base = header->p_vaddr;
    if (t->n_search && t->n_search <= (data->d_size - ENTRIES_AT) / SEARCH_ENTRY_BYTES)
        t->search = bytes + ENTRIES_AT;
    return true;
}

/* Where no section is called .eh_frame, nothing tells where it ends: it is taken up to the end of
 * the file. */
static void open_eh_frame(struct cfi_table *t, Elf *elf)
{
    GElf_Shdr section;
    GElf_Phdr header;
    uint64_t frame = 0;
    size_t file_bytes;
    t->section.is_eh = true;
    Elf_Scn *scn = find_section(elf, ".eh_frame", &section);
    bool has_header = find_header(elf, &header) && read_header(t, elf, &header, &frame);
    if (scn) {
        t->section.addr = section.sh_addr;
        if (section.sh_type != SHT_NOBITS)
            take_bytes(&t->section, elf_rawdata(scn, NULL));
    } else if (has_header && elf_rawfile(elf, &file_bytes)) {
        uint64_t offset = frame - header.p_vaddr + header.p_offset;
        t->section.addr = frame;
        if (offset < file_bytes)
            take_bytes(&t->section,
                       elf_getdata_rawchunk(elf, (int64_t)offset, file_bytes - offset, ELF_T_BYTE));
    }
    if (t->section.addr != frame)
        t->search = NULL;
}

static bool is_small(Elf_Scn *scn)
{
    GElf_Chdr packed;
    return gelf_getchdr(scn, &packed) && packed.ch_size <= MAX_UNPACKED_BYTES;
}

static void open_debug_frame(struct cfi_table *t, Elf *elf)
{
    GElf_Shdr section;
    Elf_Scn *scn = find_section(elf, ".debug_frame", &section);
    if (!scn || section.sh_type == SHT_NOBITS)
        return;
    if (!(section.sh_flags & SHF_COMPRESSED) || (is_small(scn) && elf_compress(scn, 0, 0) >= 0))
        take_bytes(&t->section, elf_getdata(scn, NULL));
}

struct cfi *cfi_open(struct elf_file *f)
{
    struct cfi *c = xcalloc(1, sizeof *c);
    Elf *elf = elf_file_elf(f);
    open_eh_frame(&c->eh, elf);
    if (!c->eh.search)
        list_functions(&c->eh);
    open_debug_frame(&c->debug, elf);
    list_functions(&c->debug);
    return c;
}

struct cfi *cfi_free(struct cfi *c)
{
    if (!c)
        return NULL;
    free(c->eh.list);
    free(c->debug.list);
    free(c);
    return NULL;
}
