#include "target/elf_object.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/elf_machine.h"

enum {
    MAX_OBJECT_BYTES = 64 << 20, /* with DWARF; LLVM makes one for each module it compiles */
    MAX_SECTIONS = 4096,         /* sections searched for code, with one for each function */
};

/* The object, copied. */
struct object_copy {
    uint8_t *bytes;
    size_t len;
    size_t left; /* bytes of sections that may still be gone through; sections that overlap lie */
    Elf64_Ehdr header;
};

static bool is_supported(const Elf64_Ehdr *h, uint64_t len)
{
    return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == ELF_MACHINE &&
           (h->e_type == ET_REL || h->e_type == ET_DYN || h->e_type == ET_EXEC) &&
           h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shnum && h->e_shnum <= MAX_SECTIONS &&
           h->e_shoff <= len && len - h->e_shoff >= h->e_shnum * sizeof(Elf64_Shdr);
}

/* Is the section code at a sane address? */
static bool is_code(const Elf64_Shdr *s)
{
    const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
    uint64_t end;
    return (s->sh_flags & wanted) == wanted && s->sh_addr && s->sh_size &&
           !__builtin_add_overflow(s->sh_addr, s->sh_size, &end) && end <= INT64_MAX;
}

size_t elf_object_code(struct mem *mem, const struct addr_range *object, struct addr_range *ret,
                       size_t max, size_t *ret_headers)
{
    Elf64_Ehdr h;
    *ret_headers = 1;
    if (object->len < sizeof h || mem_read(mem, object->start, &h, sizeof h) < 0 ||
        !is_supported(&h, object->len))
        return 0;
    size_t n = 0;
    Elf64_Shdr sections[16];
    const size_t at_once = sizeof sections / sizeof *sections;
    for (size_t i = 0; i < h.e_shnum; i += at_once) {
        size_t k = h.e_shnum - i < at_once ? h.e_shnum - i : at_once;
        uint64_t at = object->start + h.e_shoff + i * sizeof *sections;
        if (mem_read(mem, at, sections, k * sizeof *sections) < 0)
            break;
        *ret_headers += k;
        for (size_t s = 0; s < k && n < max; s++)
            if (is_code(&sections[s]))
                ret[n++] = (struct addr_range){sections[s].sh_addr, sections[s].sh_size};
    }
    return n;
}

/* False: there is no such section. */
static bool get_section(const struct object_copy *o, uint64_t i, Elf64_Shdr *ret)
{
    if (i >= o->header.e_shnum)
        return false;
    memcpy(ret, o->bytes + o->header.e_shoff + i * sizeof *ret, sizeof *ret);
    return true;
}

/* The section's bytes; NULL: it has none in the object. */
static uint8_t *contents(const struct object_copy *o, const Elf64_Shdr *s)
{
    bool there =
        s->sh_type != SHT_NOBITS && s->sh_offset <= o->len && s->sh_size <= o->len - s->sh_offset;
    return there ? o->bytes + s->sh_offset : NULL;
}

/* The same for a section that will be gone through.  NULL also if too many bytes were. */
static uint8_t *take_contents(struct object_copy *o, const Elf64_Shdr *s)
{
    uint8_t *bytes = contents(o, s);
    if (!bytes || s->sh_size > o->left)
        return NULL;
    o->left -= s->sh_size;
    return bytes;
}

/* In a relocatable object symbols are relative to their section. */
static void place_symbols(struct object_copy *o, const Elf64_Shdr *table)
{
    uint8_t *bytes = take_contents(o, table);
    for (size_t at = 0; bytes && at + sizeof(Elf64_Sym) <= table->sh_size;
         at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        Elf64_Shdr section;
        memcpy(&symbol, bytes + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || !get_section(o, symbol.st_shndx, &section))
            continue;
        symbol.st_value += section.sh_addr;
        memcpy(bytes + at, &symbol, sizeof symbol);
    }
}

static void relocate(const struct object_copy *o, const Elf64_Rela *rela, const Elf64_Shdr *target,
                     const Elf64_Shdr *symbols)
{
    bool relative;
    size_t bytes = elf_relocation_bytes(ELF64_R_TYPE(rela->r_info), &relative);
    const uint64_t at = ELF64_R_SYM(rela->r_info) * sizeof(Elf64_Sym);
    uint8_t *to = contents(o, target);
    const uint8_t *table = contents(o, symbols);
    Elf64_Sym symbol;
    if (!bytes || !to || !table || target->sh_size < bytes ||
        rela->r_offset > target->sh_size - bytes || symbols->sh_size < sizeof symbol ||
        at > symbols->sh_size - sizeof symbol)
        return;
    memcpy(&symbol, table + at, sizeof symbol);
    uint64_t value = symbol.st_value + (uint64_t)rela->r_addend;
    if (relative)
        value -= target->sh_addr + rela->r_offset;
    memcpy(to + rela->r_offset, &value, bytes); /* little-endian */
}

static void relocate_section(struct object_copy *o, const Elf64_Shdr *relas)
{
    Elf64_Shdr target;
    Elf64_Shdr symbols;
    const uint8_t *bytes = take_contents(o, relas);
    if (!bytes || !get_section(o, relas->sh_info, &target) || !relas->sh_info ||
        !get_section(o, relas->sh_link, &symbols) ||
        target.sh_flags & (SHF_COMPRESSED | SHF_EXECINSTR))
        return;
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= relas->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela rela;
        memcpy(&rela, bytes + at, sizeof rela);
        relocate(o, &rela, &target, &symbols);
    }
}

static void each_section(struct object_copy *o, uint32_t type,
                         void (*fn)(struct object_copy *o, const Elf64_Shdr *s))
{
    Elf64_Shdr s;
    for (size_t i = 0; get_section(o, i, &s); i++)
        if (s.sh_type == type)
            fn(o, &s);
}

/* Code is taken from the target's memory, where it is relocated.  That is the only copy where a
 * compiler registers headers alone. */
static void take_code(struct object_copy *o, struct elf_layout *layout, struct mem *mem)
{
    Elf64_Shdr s;
    layout->n = 0;
    for (size_t i = 0; layout->n < ELF_MAX_SEGMENTS && get_section(o, i, &s); i++) {
        uint8_t *bytes = is_code(&s) ? take_contents(o, &s) : NULL;
        if (!bytes || mem_read(mem, s.sh_addr, bytes, s.sh_size) < 0)
            continue;
        layout->segments[layout->n++] = (struct elf_segment){
            .type = PT_LOAD,
            .flags = PF_R | PF_X,
            .offset = s.sh_offset,
            .addr = s.sh_addr,
            .file_bytes = s.sh_size,
            .mem_bytes = s.sh_size,
        };
    }
}

static void finish(struct object_copy *o, struct elf_layout *layout, struct mem *mem)
{
    if (o->header.e_type == ET_REL) {
        each_section(o, SHT_SYMTAB, place_symbols);
        each_section(o, SHT_RELA, relocate_section);
    }
    take_code(o, layout, mem);
    o->header.e_type = ET_DYN;
    o->header.e_phoff = 0;
    o->header.e_phnum = 0;
    memcpy(o->bytes, &o->header, sizeof o->header);
    layout->header = o->header;
}

int elf_object_read(struct elf_image *ret, struct elf_layout *layout, struct mem *mem,
                    const struct addr_range *object, struct elf_budget *budget)
{
    struct object_copy o = {.len = object->len, .left = object->len};
    if (o.len < sizeof o.header || o.len > MAX_OBJECT_BYTES)
        return -ENOEXEC;
    if (o.len > budget->bytes / 2) {
        budget->cut++;
        return -ENOSPC;
    }
    o.bytes = mmap(NULL, o.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (o.bytes == MAP_FAILED)
        return -ENOEXEC;
    int r = mem_read(mem, object->start, o.bytes, o.len);
    memcpy(&o.header, o.bytes, sizeof o.header);
    if (r == 0 && !is_supported(&o.header, o.len))
        r = -ENOEXEC;
    if (r < 0) {
        munmap(o.bytes, o.len);
        return r == -ENOEXEC ? r : -EFAULT;
    }
    finish(&o, layout, mem);
    *ret = (struct elf_image){.bytes = o.bytes, .len = o.len};
    elf_image_seal(ret);
    budget->bytes -= o.len;
    return 0;
}
