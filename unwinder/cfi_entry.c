#include "unwinder/cfi_entry.h"

#include <dwarf.h>

enum {
    /* An interpreter's main loop has some 2 KiB. */
    MAX_PROGRAM_BYTES = 1 << 16,
    /* All FDEs run it; the usual one has 7 bytes. */
    MAX_INITIAL_BYTES = 512,
    MAX_LETTERS = 8,
};
static const uint32_t CIE_ID_EH = 0, CIE_ID_DEBUG = UINT32_MAX;

/* The content of the entry at OFFSET behind its id.  RET_CIE is the offset of an FDE's CIE, or
 * OFFSET where the entry is a CIE. */
static struct dwarf_bytes open_entry(const struct cfi_section *s, uint64_t offset,
                                     uint64_t *ret_cie)
{
    struct dwarf_bytes all = {s->bytes, s->bytes + s->len, false};
    (void)dwarf_part(&all, offset);
    uint64_t len = dwarf_unsigned(&all, 4);
    struct dwarf_bytes entry = dwarf_part(&all, len);
    uint64_t id_at = (uint64_t)(entry.at - s->bytes);
    uint32_t id = (uint32_t)dwarf_unsigned(&entry, 4);
    if (id == (s->is_eh ? CIE_ID_EH : CIE_ID_DEBUG))
        *ret_cie = offset;
    else
        *ret_cie = s->is_eh ? id_at - id : id;
    if (len == UINT32_MAX) /* 64-bit DWARF */
        dwarf_fail(&entry);
    return entry;
}

/* 0: no form that is used for code. */
static size_t encoded_bytes(uint8_t encoding)
{
    enum { FORM = 0x07 };
    static const uint8_t bytes[FORM + 1] = {
        [DW_EH_PE_absptr] = 8, [DW_EH_PE_udata2] = 2, [DW_EH_PE_udata4] = 4, [DW_EH_PE_udata8] = 8};
    return bytes[encoding & FORM];
}

static bool is_readable(uint8_t encoding)
{
    enum { APPLICATION = 0xf0 };
    uint8_t application = encoding & APPLICATION;
    return encoded_bytes(encoding) && (!application || application == DW_EH_PE_pcrel);
}

uint64_t cfi_read_address(const struct cfi_section *s, struct dwarf_bytes *b, uint8_t encoding)
{
    uint64_t place = s->addr + (uint64_t)(b->at - s->bytes);
    size_t n = encoded_bytes(encoding);
    uint64_t value = encoding & DW_EH_PE_signed ? dwarf_signed(b, n) : dwarf_unsigned(b, n);
    return encoding & DW_EH_PE_pcrel ? value + place : value;
}

/* The data that LETTER, one of an augmentation behind its z, stands for. */
static void read_augmentation(struct cfi_cie *cie, uint8_t letter, struct dwarf_bytes *data)
{
    uint8_t encoding;
    switch (letter) {
    case 'R':
        cie->encoding = dwarf_u8(data);
        break;
    case 'L':
        (void)dwarf_u8(data);
        break;
    case 'P':
        encoding = dwarf_u8(data);
        if (encoding != DW_EH_PE_omit && !encoded_bytes(encoding))
            dwarf_fail(data);
        (void)dwarf_part(data, encoding == DW_EH_PE_omit ? 0 : encoded_bytes(encoding));
        break;
    case 'S':
        cie->is_signal = true;
        break;
    case 'B': /* of other machines; no data */
        break;
    default:
        dwarf_fail(data);
    }
}

/* Ends behind the NUL of the augmentation's text. */
static struct dwarf_bytes take_letters(struct dwarf_bytes *b)
{
    struct dwarf_bytes ret = *b;
    for (size_t n = 0; dwarf_u8(b);)
        if (++n > MAX_LETTERS)
            dwarf_fail(b);
    ret.end = b->at - !b->bad;
    return ret;
}

/* The fields between the augmentation's text and its data. */
static void read_alignment(struct cfi_cie *cie, struct dwarf_bytes *b, unsigned version)
{
    enum { ADDRESS_BYTES = 8 }; /* and a second byte: no segments */
    if (version == 4 && dwarf_unsigned(b, 2) != ADDRESS_BYTES)
        dwarf_fail(b);
    cie->code_align = dwarf_uleb(b);
    cie->data_align = dwarf_sleb(b);
    (void)(version == 1 ? dwarf_u8(b) : dwarf_uleb(b)); /* the return address's register */
}

static bool read_cie(const struct cfi_section *s, uint64_t offset, struct cfi_cie *ret)
{
    uint64_t cie;
    struct dwarf_bytes b = open_entry(s, offset, &cie);
    *ret = (struct cfi_cie){.encoding = DW_EH_PE_absptr};
    unsigned version = dwarf_u8(&b);
    struct dwarf_bytes letters = take_letters(&b);
    if (b.bad || cie != offset || (version != 1 && version != 3 && version != 4))
        return false;
    read_alignment(ret, &b, version);
    if (dwarf_left(&letters)) {
        ret->is_sized = dwarf_u8(&letters) == 'z';
        struct dwarf_bytes data = dwarf_part(&b, dwarf_uleb(&b));
        while (dwarf_left(&letters))
            read_augmentation(ret, dwarf_u8(&letters), &data);
        if (data.bad || !ret->is_sized)
            return false;
    }
    ret->program = b;
    return !b.bad && dwarf_left(&b) <= MAX_INITIAL_BYTES && is_readable(ret->encoding);
}

bool cfi_read_fde(const struct cfi_section *s, uint64_t offset, struct cfi_fde *ret)
{
    uint64_t cie;
    struct dwarf_bytes b = open_entry(s, offset, &cie);
    if (b.bad || cie == offset || !read_cie(s, cie, &ret->cie))
        return false;
    ret->function.start = cfi_read_address(s, &b, ret->cie.encoding);
    ret->function.len = dwarf_unsigned(&b, encoded_bytes(ret->cie.encoding));
    if (ret->cie.is_sized)
        (void)dwarf_part(&b, dwarf_uleb(&b));
    ret->program = b;
    return !b.bad && dwarf_left(&b) <= MAX_PROGRAM_BYTES;
}
