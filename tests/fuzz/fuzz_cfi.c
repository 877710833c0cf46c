/* Call frame information and its expressions in an ELF file that is sound otherwise: the input is
 * the instructions of a CIE and of some FDEs, or all of .eh_frame, and also which of its bytes are
 * FDEs. */
#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "capture/snapshot.h"
#include "tests/fuzz/elf_input.h"
#include "tests/fuzz/fuzz.h"

enum { HDR_AT = 0x200, EH_FRAME_AT = 0x400, FILE_BYTES = 0x3000, CODE_STEP = 0x100, MAX_FDES = 8 };

struct maker {
    uint8_t bytes[FILE_BYTES];
    size_t at; /* the end of .eh_frame so far */
    uint32_t starts[MAX_FDES], fdes[MAX_FDES];
    uint32_t n;
};

static void put(struct maker *m, const void *bytes, size_t len)
{
    if (len > FILE_BYTES - m->at)
        len = FILE_BYTES - m->at;
    if (len)
        memcpy(m->bytes + m->at, bytes, len);
    m->at += len;
}

static void put_u32(struct maker *m, uint32_t value)
{
    put(m, &value, sizeof value);
}

/* Ends the entry that begins at START: pads it and writes its length. */
static void end_entry(struct maker *m, size_t start)
{
    while ((m->at - start) % 8 && m->at < FILE_BYTES)
        put(m, "", 1);
    uint32_t len = (uint32_t)(m->at - start - 4);
    memcpy(m->bytes + start, &len, sizeof len);
}

static void put_cie(struct maker *m, struct feed *f)
{
    static const uint8_t head[] = {
        1, 'z', 'R', 0, 1, 0x78, X86_PC, 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4};
    static const uint8_t usual[] = {DW_CFA_def_cfa, X86_RSP, 8, DW_CFA_offset | X86_PC, 1};
    size_t len;
    size_t start = m->at;
    uint8_t how = feed_u8(f);
    put_u32(m, 0);
    put_u32(m, 0);
    put(m, head, sizeof head);
    if (how & 1)
        put(m, usual, sizeof usual);
    const uint8_t *bytes = feed_bytes(f, feed_u8(f), &len);
    put(m, bytes, len);
    end_entry(m, start);
}

static void put_fde(struct maker *m, struct feed *f)
{
    size_t len;
    size_t start = m->at;
    uint32_t code = CODE_STEP * m->n;
    put_u32(m, 0);
    put_u32(m, (uint32_t)(m->at - EH_FRAME_AT));
    put_u32(m, code - (uint32_t)m->at);
    put_u32(m, CODE_STEP);
    put(m, "", 1); /* length of augmentation data */
    const uint8_t *bytes = feed_bytes(f, feed_u8(f), &len);
    put(m, bytes, len);
    end_entry(m, start);
    m->starts[m->n] = code;
    m->fdes[m->n++] = (uint32_t)start;
}

static void put_header(struct maker *m)
{
    m->at = HDR_AT;
    put(m,
        (const uint8_t[]){1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
                          DW_EH_PE_datarel | DW_EH_PE_sdata4},
        4);
    put_u32(m, EH_FRAME_AT - (HDR_AT + 4));
    put_u32(m, m->n);
    for (uint32_t i = 0; i < m->n; i++) {
        put_u32(m, m->starts[i] - HDR_AT);
        put_u32(m, m->fdes[i] - HDR_AT);
    }
}

static void put_elf(struct maker *m)
{
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof header,
        .e_ehsize = sizeof header,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 2,
        .e_shentsize = sizeof(Elf64_Shdr),
    };
    const Elf64_Phdr segments[] = {
        {.p_type = PT_LOAD,
         .p_flags = PF_R | PF_X,
         .p_filesz = FILE_BYTES,
         .p_memsz = FILE_BYTES,
         .p_align = 4096},
        {.p_type = PT_GNU_EH_FRAME,
         .p_flags = PF_R,
         .p_offset = HDR_AT,
         .p_vaddr = HDR_AT,
         .p_filesz = 0x100,
         .p_memsz = 0x100,
         .p_align = 4},
    };
    m->at = 0;
    put(m, &header, sizeof header);
    put(m, segments, sizeof segments);
}

/* FDEs anywhere: one over the other, and at the end of the file. */
static void take_table(struct maker *m, struct feed *f)
{
    uint32_t n = 1 + feed_u8(f) % MAX_FDES;
    while (m->n < n) {
        m->starts[m->n] = CODE_STEP * m->n;
        m->fdes[m->n++] = EH_FRAME_AT + feed_u16(f) % (FILE_BYTES - EH_FRAME_AT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feed f = {bytes, len};
    struct maker *m = xcalloc(1, sizeof *m);
    m->at = EH_FRAME_AT;
    uint8_t how = feed_u8(&f);
    if (how & 1) {
        m->n = 1;
        m->fdes[0] = EH_FRAME_AT + 24;
        if (how & 4) {
            m->n = 0;
            take_table(m, &f);
        }
        put(m, f.at, f.left);
    } else {
        put_cie(m, &f);
        while (f.left && m->n < MAX_FDES)
            put_fde(m, &f);
        put_u32(m, 0);
    }
    put_header(m);
    put_elf(m);
    struct elf_file *file =
        how & 2 ? elf_input_map(m->bytes, FILE_BYTES) : elf_input_open(m->bytes, FILE_BYTES);
    FUZZ_CHECK(file);
    elf_input_use(file);
    elf_file_free(file);
    free(m);
    return 0;
}
