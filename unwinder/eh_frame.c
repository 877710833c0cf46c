#include "unwinder/eh_frame.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>

#include "base/bytes.h"

/* .eh_frame_hdr: version, three encodings, .eh_frame's address, number of entries, entries. */
enum { VERSION, FRAME_ENCODING, COUNT_ENCODING, ENTRY_ENCODING, FRAME_AT = 4, COUNT_AT = 8 };
enum { ENTRIES_AT = 12, ENTRY_BYTES = 8 };

struct eh_frame_header {
    const uint8_t *bytes;
    size_t len;
    uint64_t addr; /* ELF address */
};

/* What libdw makes of a header.  Linkers write one form of table, or say that there is none. */
enum eh_frame_table { TABLE_USUAL, TABLE_NONE, TABLE_STRANGE };

static enum eh_frame_table read_header(struct eh_frame *e, const struct eh_frame_header *h,
                                       uint64_t *ret_frame)
{
    enum { USUAL_FRAME = DW_EH_PE_pcrel | DW_EH_PE_sdata4 };
    enum { USUAL_ENTRY = DW_EH_PE_datarel | DW_EH_PE_sdata4 };
    if (h->len < ENTRIES_AT || h->bytes[VERSION] != 1 || h->bytes[FRAME_ENCODING] != USUAL_FRAME)
        return TABLE_STRANGE;
    *ret_frame = h->addr + FRAME_AT + (uint64_t)(int64_t)get_i32(h->bytes + FRAME_AT);
    if (h->bytes[COUNT_ENCODING] == DW_EH_PE_omit)
        return TABLE_NONE;
    uint32_t n = get_u32(h->bytes + COUNT_AT);
    if (h->bytes[COUNT_ENCODING] != DW_EH_PE_udata4 || h->bytes[ENTRY_ENCODING] != USUAL_ENTRY ||
        n > (h->len - ENTRIES_AT) / ENTRY_BYTES)
        return TABLE_STRANGE;
    e->search = h->bytes + ENTRIES_AT;
    e->n_search = n;
    e->search_base = h->addr;
    return n ? TABLE_USUAL : TABLE_NONE;
}

/* As libdw does: by section headers, and without them where no section is called .eh_frame. */
struct eh_frame_sections {
    Elf_Data *frame, *header;
    GElf_Shdr frame_section, header_section;
    GElf_Phdr segment; /* type 0: none */
};

static void find_segment(struct eh_frame_sections *f, Elf *elf)
{
    size_t n;
    GElf_Phdr ph;
    if (elf_getphdrnum(elf, &n) < 0)
        return;
    for (size_t i = 0; i < n && !f->segment.p_type; i++)
        if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_GNU_EH_FRAME)
            f->segment = ph;
}

/* A header section counts only if it comes first. */
static bool find_sections(struct eh_frame_sections *f, Elf *elf, size_t names)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr h;
        const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        if (name && strcmp(name, ".eh_frame_hdr") == 0) {
            f->header = elf_rawdata(scn, NULL);
            f->header_section = h;
        } else if (name && strcmp(name, ".eh_frame") == 0) {
            f->frame = h.sh_type == SHT_NOBITS ? NULL : elf_rawdata(scn, NULL);
            f->frame_section = h;
            return true;
        }
    }
    return false;
}

static struct eh_frame_header segment_header(const struct eh_frame_sections *f, Elf *elf)
{
    const GElf_Phdr *ph = &f->segment;
    const Elf_Data *data =
        ph->p_type ? elf_getdata_rawchunk(elf, (int64_t)ph->p_offset, ph->p_filesz, ELF_T_BYTE)
                   : NULL;
    return (struct eh_frame_header){data ? data->d_buf : NULL, data ? data->d_size : 0,
                                    ph->p_vaddr};
}

static void take_section(struct eh_frame *e, const Elf_Data *data, uint64_t addr)
{
    if (data && data->d_buf)
        e->section = (struct cfi_section){.bytes = data->d_buf, .len = data->d_size, .is_eh = true};
    e->addr = addr;
}

/* Returns whether, and how, the table is used. */
static enum eh_frame_table by_sections(struct eh_frame *e, const struct eh_frame_sections *f,
                                       Elf *elf)
{
    uint64_t frame;
    struct eh_frame_header h = segment_header(f, elf);
    take_section(e, f->frame, f->frame_section.sh_addr);
    if (!f->header || !f->header->d_buf) {
        (void)read_header(e, &h, &frame);
        return TABLE_NONE;
    }
    h = (struct eh_frame_header){f->header->d_buf, f->header->d_size, f->header_section.sh_addr};
    enum eh_frame_table table = read_header(e, &h, &frame);
    return table == TABLE_USUAL && frame != e->addr ? TABLE_NONE : table;
}

/* Nothing tells where the section ends: libdw reads up to the end of the file. */
static enum eh_frame_table by_segment(struct eh_frame *e, const struct eh_frame_sections *f,
                                      Elf *elf)
{
    uint64_t frame;
    size_t file_bytes;
    const struct eh_frame_header h = segment_header(f, elf);
    enum eh_frame_table table = read_header(e, &h, &frame);
    if (table == TABLE_STRANGE || !elf_rawfile(elf, &file_bytes))
        return TABLE_STRANGE;
    uint64_t offset = frame - h.addr + f->segment.p_offset;
    if (offset < file_bytes)
        take_section(e, elf_getdata_rawchunk(elf, (int64_t)offset, file_bytes - offset, ELF_T_BYTE),
                     frame);
    return table;
}

void eh_frame_init(struct eh_frame *e, Elf *elf)
{
    struct eh_frame_sections f = {0};
    size_t names;
    *e = (struct eh_frame){.ask = EH_FRAME_NEVER};
    if (elf_getshdrstrndx(elf, &names) < 0)
        return;
    find_segment(&f, elf);
    bool has_section = names && find_sections(&f, elf, names);
    enum eh_frame_table table = has_section ? by_sections(e, &f, elf) : by_segment(e, &f, elf);
    if (table == TABLE_STRANGE || !e->section.bytes)
        return;
    if (table == TABLE_USUAL)
        e->ask = EH_FRAME_BY_SEARCH;
    else if (cfi_check_all(&e->section))
        e->ask = EH_FRAME_ALWAYS;
}

/* One half of entry I. */
static uint64_t search_value(const struct eh_frame *e, size_t i, size_t half)
{
    int32_t relative = get_i32(e->search + i * ENTRY_BYTES + half * sizeof relative);
    return e->search_base + (uint64_t)(int64_t)relative;
}

/* Takes the same steps as libdw, because a hostile table need not be sorted.  Returns n_search
 * if there is no entry. */
static size_t search_entry(const struct eh_frame *e, uint64_t elf_addr)
{
    size_t low = 0, high = e->n_search;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (elf_addr < search_value(e, middle, 0)) {
            high = middle;
            continue;
        }
        low = middle + 1;
        if (low == e->n_search || elf_addr < search_value(e, low, 0))
            return middle;
    }
    return e->n_search;
}

bool eh_frame_may_ask(struct eh_frame *e, uint64_t elf_addr)
{
    if (e->ask != EH_FRAME_BY_SEARCH)
        return e->ask == EH_FRAME_ALWAYS;
    size_t i = search_entry(e, elf_addr);
    return i < e->n_search && cfi_check_function(&e->section, search_value(e, i, 1) - e->addr);
}

struct addr_range eh_frame_function(const struct eh_frame *e, uint64_t elf_addr)
{
    size_t i = search_entry(e, elf_addr);
    if (i == e->n_search)
        return (struct addr_range){0, 0};
    uint64_t start = search_value(e, i, 0);
    uint64_t end = i + 1 < e->n_search ? search_value(e, i + 1, 0) : elf_addr + 1;
    return (struct addr_range){start, end - start};
}

void eh_frame_release(struct eh_frame *e)
{
    cfi_section_release(&e->section);
}
