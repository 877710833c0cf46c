#include "symbolizer/plt.h"

#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#include "arch/elf_machine.h"
#include "arch/insn.h"
#include "base/hash.h"
#include "base/text.h"
#include "target/elf_strings.h"

enum {
    STUB_BYTES = 16,
    SHORT_STUB_BYTES = 8,
    MAX_SECTIONS = 16, /* of relocations, and of stubs: linkers write up to three */
};

/* Slots of the global offset table that hold a function's address → its name. */
static void add_slots(struct map *slots, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
    Elf_Data *relocations = elf_getdata(scn, NULL);
    Elf_Scn *symbols_scn = elf_getscn(elf, header->sh_link);
    Elf_Data *symbols = elf_getdata(symbols_scn, NULL);
    GElf_Shdr symbols_header;
    if (!relocations || !symbols || header->sh_entsize != sizeof(Elf64_Rela) ||
        !gelf_getshdr(symbols_scn, &symbols_header))
        return;
    size_t n = relocations->d_size / sizeof(Elf64_Rela);
    for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
        GElf_Rela r;
        GElf_Sym sym;
        if (!gelf_getrela(relocations, (int)i, &r))
            return;
        uint64_t type = GELF_R_TYPE(r.r_info);
        if ((type != ELF_JUMP_SLOT && type != ELF_GLOB_DAT) || GELF_R_SYM(r.r_info) > INT32_MAX ||
            !gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &sym))
            continue;
        const char *name = elf_string(elf, symbols_header.sh_link, sym.st_name);
        if (name && *name)
            map_put(slots, r.r_offset, (uintptr_t)name);
    }
}

/* The callback for each stub. */
struct visit {
    void (*fn)(void *ctx, uint64_t start, uint64_t len, const char *name);
    void *ctx;
};

static void visit_stubs(const struct map *slots, Elf_Scn *scn, const GElf_Shdr *header,
                        const struct visit *v)
{
    const Elf_Data *code = elf_rawdata(scn, NULL);
    if (!code || !code->d_buf)
        return;
    size_t step = header->sh_entsize == SHORT_STUB_BYTES ? SHORT_STUB_BYTES : STUB_BYTES;
    for (size_t at = 0; at + step <= code->d_size; at += step) {
        const uint64_t stub = header->sh_addr + at;
        int64_t slot;
        uint64_t name;
        if (plt_stub_slot((const uint8_t *)code->d_buf + at, step, &slot) &&
            map_get(slots, stub + (uint64_t)slot, &name))
            v->fn(v->ctx, stub, step, (const char *)(uintptr_t)name);
    }
}

static bool is_plt(Elf *elf, size_t names, const GElf_Shdr *header)
{
    const char *name = elf_string(elf, names, header->sh_name);
    return header->sh_type == SHT_PROGBITS && name && str_starts(name, ".plt");
}

void plt_each_stub(Elf *elf, void (*fn)(void *ctx, uint64_t start, uint64_t len, const char *name),
                   void *ctx)
{
    struct map slots = {0};
    struct visit v = {fn, ctx};
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return;
    int n = 0;
    for (Elf_Scn *scn = NULL; n < MAX_SECTIONS && (scn = elf_nextscn(elf, scn));)
        if (gelf_getshdr(scn, &header) && header.sh_type == SHT_RELA &&
            (header.sh_flags & SHF_ALLOC)) {
            add_slots(&slots, elf, scn, &header);
            n++;
        }
    n = 0;
    for (Elf_Scn *scn = NULL; n < MAX_SECTIONS && (scn = elf_nextscn(elf, scn));)
        if (gelf_getshdr(scn, &header) && is_plt(elf, names, &header)) {
            visit_stubs(&slots, scn, &header, &v);
            n++;
        }
    map_release(&slots);
}
