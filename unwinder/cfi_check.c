#include "unwinder/cfi_check.h"

#include <dwarf.h>
#include <string.h>

#include "base/bytes.h"

enum {
    /* The ABI's last is 145, APX's r31. */
    MAX_REGISTERS = 256,
    /* Each, and not their number: that is one for each way out of a function. */
    MAX_REMEMBERED = 64,
    /* An interpreter's main loop has some 2 KiB. */
    MAX_PROGRAM_BYTES = 1 << 16,
    /* All FDEs run it; the usual one has 7 bytes. */
    MAX_INITIAL_BYTES = 512,
    /* unwinder/rule.c takes 256 operations. */
    MAX_EXPRESSION_BYTES = 4096,
    /* libdw may read this many bytes past an expression that ends before a number. */
    NUMBER_SLACK_BYTES = 2,
    MAX_SECTION_BYTES = 1 << 26,
    MAX_LEB_BYTES = 10, /* of 64 bits; libdw stops there */
};
static const uint64_t CIE_ID_EH = 0, CIE_ID_DEBUG = UINT32_MAX;

/* What is left to read.  After the first read past the end all others give 0. */
struct bytes {
    const uint8_t *at, *end;
    bool bad;
};

static void skip(struct bytes *b, uint64_t n)
{
    b->bad |= (uint64_t)(b->end - b->at) < n;
    if (!b->bad)
        b->at += n;
}

static uint64_t take(struct bytes *b, size_t n)
{
    uint64_t value = 0;
    const uint8_t *from = b->at;
    skip(b, n);
    if (!b->bad)
        memcpy(&value, from, n);
    return value;
}

/* Also for signed ones, whose value nothing here depends on. */
static uint64_t take_leb(struct bytes *b)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < MAX_LEB_BYTES; i++) {
        uint64_t byte = take(b, 1);
        value |= (byte & 0x7f) << 7 * i;
        if (byte < 0x80)
            return value;
    }
    b->bad = true;
    return 0;
}

static struct bytes take_bytes(struct bytes *b, uint64_t n)
{
    struct bytes ret = {b->at, b->at, false};
    skip(b, n);
    ret.end = b->at;
    ret.bad = b->bad;
    return ret;
}

/* ---- programs ---- */

enum operand {
    UNKNOWN,
    NOTHING,
    REGISTER,
    LEB,
    BYTE,
    BYTES_2,
    BYTES_4,
    BYTES_8,
    ADDRESS,
    PLACE,
    VALUE
};

/* Operands by an instruction's low six bits, where its two high bits are 0.  PLACE and VALUE are
 * expressions. */
static const uint8_t operands[64][2] = {
    [DW_CFA_nop] = {NOTHING},
    [DW_CFA_set_loc] = {ADDRESS},
    [DW_CFA_advance_loc1] = {BYTE},
    [DW_CFA_advance_loc2] = {BYTES_2},
    [DW_CFA_advance_loc4] = {BYTES_4},
    [DW_CFA_offset_extended] = {REGISTER, LEB},
    [DW_CFA_restore_extended] = {REGISTER},
    [DW_CFA_undefined] = {REGISTER},
    [DW_CFA_same_value] = {REGISTER},
    [DW_CFA_register] = {REGISTER, LEB},
    [DW_CFA_remember_state] = {NOTHING},
    [DW_CFA_restore_state] = {NOTHING},
    [DW_CFA_def_cfa] = {LEB, LEB},
    [DW_CFA_def_cfa_register] = {LEB},
    [DW_CFA_def_cfa_offset] = {LEB},
    [DW_CFA_def_cfa_expression] = {PLACE},
    [DW_CFA_expression] = {REGISTER, PLACE},
    [DW_CFA_offset_extended_sf] = {REGISTER, LEB},
    [DW_CFA_def_cfa_sf] = {LEB, LEB},
    [DW_CFA_def_cfa_offset_sf] = {LEB},
    [DW_CFA_val_offset] = {REGISTER, LEB},
    [DW_CFA_val_offset_sf] = {REGISTER, LEB},
    [DW_CFA_val_expression] = {REGISTER, VALUE},
    [DW_CFA_MIPS_advance_loc8] = {BYTES_8},
    [DW_CFA_GNU_window_save] = {NOTHING},
    [DW_CFA_GNU_args_size] = {LEB},
    [DW_CFA_GNU_negative_offset_extended] = {REGISTER, LEB},
};

/* May the last byte of an expression be an operation whose number is missing? */
static bool wants_number(uint8_t last)
{
    return last == DW_OP_constu || last == DW_OP_consts || last == DW_OP_plus_uconst ||
           last >= DW_OP_breg0;
}

/* libdw keeps expressions by where they begin, and asserts that a value is found as a value. */
static void check_expression(struct cfi_section *s, struct bytes *b, bool is_value)
{
    uint64_t known;
    uint64_t len = take_leb(b);
    uint64_t offset = (uint64_t)(b->at - s->bytes);
    skip(b, len);
    if (b->bad || len == 0)
        return;
    bool at_end = (size_t)(s->bytes + s->len - b->at) < NUMBER_SLACK_BYTES;
    b->bad = len > MAX_EXPRESSION_BYTES || (at_end && wants_number(b->at[-1]));
    if (b->bad)
        return;
    if (!map_get(&s->expressions, offset, &known))
        map_put(&s->expressions, offset, is_value);
    else
        b->bad = known != is_value;
}

static void check_operand(struct cfi_section *s, struct bytes *b, enum operand what)
{
    switch (what) {
    case UNKNOWN: /* here: there is none */
    case NOTHING:
        break;
    case REGISTER:
        b->bad |= take_leb(b) >= MAX_REGISTERS;
        break;
    case LEB:
        (void)take_leb(b);
        break;
    case BYTE:
    case BYTES_2:
    case BYTES_4:
    case BYTES_8:
        skip(b, 1U << (what - BYTE));
        break;
    case ADDRESS:
        skip(b, s->cie.address_bytes);
        break;
    case PLACE:
    case VALUE:
        check_expression(s, b, what == VALUE);
        break;
    }
}

static void check_instruction(struct cfi_section *s, struct bytes *b, unsigned *remembered)
{
    uint8_t code = (uint8_t)take(b, 1);
    uint8_t high = code & 0xc0;
    if (high) {
        check_operand(s, b, high == DW_CFA_offset ? LEB : NOTHING);
        return;
    }
    if (code == DW_CFA_remember_state)
        b->bad |= ++*remembered > MAX_REMEMBERED;
    else if (code == DW_CFA_restore_state && *remembered)
        --*remembered;
    b->bad |= operands[code][0] == UNKNOWN;
    check_operand(s, b, operands[code][0]);
    check_operand(s, b, operands[code][1]);
}

static bool check_program(struct cfi_section *s, struct bytes b, size_t max)
{
    unsigned remembered = 0;
    if (b.bad || (size_t)(b.end - b.at) > max)
        return false;
    while (b.at < b.end && !b.bad)
        check_instruction(s, &b, &remembered);
    return !b.bad;
}

/* ---- entries ---- */

enum cfi_entry_kind { KIND_CIE, KIND_FDE };

/* The content of the entry at OFFSET behind its id.  RET_CIE is the entry's own offset, or that
 * of an FDE's CIE. */
static struct bytes open_entry(const struct cfi_section *s, uint64_t offset,
                               enum cfi_entry_kind *ret_kind, uint64_t *ret_cie)
{
    struct bytes all = {s->bytes, s->bytes + s->len, false};
    skip(&all, offset);
    uint64_t len = take(&all, 4);
    struct bytes entry = take_bytes(&all, len);
    uint64_t id_at = (uint64_t)(entry.at - s->bytes);
    uint64_t id = take(&entry, 4);
    *ret_kind = id == (s->is_eh ? CIE_ID_EH : CIE_ID_DEBUG) ? KIND_CIE : KIND_FDE;
    *ret_cie = *ret_kind == KIND_CIE ? offset : s->is_eh ? id_at - id : id;
    entry.bad |= len == UINT32_MAX;
    return entry;
}

/* 0: no form that is used for code. */
static uint8_t encoded_bytes(uint8_t encoding)
{
    enum { FORM = 0x07 };
    static const uint8_t bytes[FORM + 1] = {
        [DW_EH_PE_absptr] = 8, [DW_EH_PE_udata2] = 2, [DW_EH_PE_udata4] = 4, [DW_EH_PE_udata8] = 8};
    return bytes[encoding & FORM];
}

/* Reads augmentation data: of the letters LETTERS only R matters, but the others come before it. */
static uint8_t read_address_encoding(const char *letters, struct bytes *data)
{
    uint8_t ret = DW_EH_PE_absptr;
    for (; *letters && !data->bad; letters++) {
        uint8_t encoding;
        switch (*letters) {
        case 'R':
            ret = (uint8_t)take(data, 1);
            break;
        case 'L':
            skip(data, 1);
            break;
        case 'P':
            encoding = (uint8_t)take(data, 1);
            data->bad |= encoding != DW_EH_PE_omit && !encoded_bytes(encoding);
            skip(data, encoding == DW_EH_PE_omit ? 0 : encoded_bytes(encoding));
            break;
        case 'S':
        case 'B': /* of other machines; no data */
            break;
        default:
            data->bad = true;
        }
    }
    return ret;
}

/* The augmentation's text, and what else stands before its data. */
static const char *read_cie_head(struct bytes *b)
{
    uint64_t version = take(b, 1);
    const char *augmentation = (const char *)b->at;
    const uint8_t *nul = b->bad ? NULL : memchr(b->at, '\0', (size_t)(b->end - b->at));
    b->bad |= !nul || (version != 1 && version != 3 && version != 4);
    skip(b, nul ? (uint64_t)(nul + 1 - b->at) : 0);
    if (version == 4)
        skip(b, 2); /* sizes of addresses and segments, which libdw compares */
    (void)take_leb(b);
    (void)take_leb(b);
    if (version == 1)
        skip(b, 1);
    else
        (void)take_leb(b);
    return augmentation;
}

static bool check_cie(struct cfi_section *s, uint64_t offset)
{
    enum { APPLICATION = 0x70, INDIRECT = 0x80 };
    enum cfi_entry_kind kind;
    uint64_t cie;
    uint8_t encoding = DW_EH_PE_absptr;
    if (s->cie.address_bytes && s->cie.offset == offset)
        return true;
    s->cie.address_bytes = 0;
    struct bytes b = open_entry(s, offset, &kind, &cie);
    if (kind != KIND_CIE)
        return false;
    const char *augmentation = read_cie_head(&b);
    bool sized = !b.bad && *augmentation == 'z';
    if (sized) {
        struct bytes data = take_bytes(&b, take_leb(&b));
        encoding = read_address_encoding(augmentation + 1, &data);
        b.bad |= data.bad;
    } else if (b.bad || *augmentation) {
        return false;
    }
    s->cie.address_bytes = encoded_bytes(encoding);
    s->cie.offset = offset;
    s->cie.sized = sized;
    if (encoding & INDIRECT || (encoding & APPLICATION) > DW_EH_PE_funcrel ||
        !check_program(s, b, MAX_INITIAL_BYTES))
        s->cie.address_bytes = 0;
    return s->cie.address_bytes;
}

bool cfi_check_function(struct cfi_section *s, uint64_t offset)
{
    enum cfi_entry_kind kind;
    uint64_t cie;
    struct bytes b = open_entry(s, offset, &kind, &cie);
    if (b.bad || kind != KIND_FDE || !check_cie(s, cie))
        return false;
    skip(&b, UINT64_C(2) * s->cie.address_bytes); /* start and length */
    if (s->cie.sized)
        skip(&b, take_leb(&b));
    return check_program(s, b, MAX_PROGRAM_BYTES);
}

bool cfi_check_all(struct cfi_section *s)
{
    enum cfi_entry_kind kind;
    uint64_t cie;
    if (s->len > MAX_SECTION_BYTES)
        return false;
    for (uint64_t offset = 0; offset + 4 < s->len;) {
        uint32_t len = get_u32(s->bytes + offset);
        if (len == 0) /* the terminator */
            return true;
        (void)open_entry(s, offset, &kind, &cie);
        if (!(kind == KIND_CIE ? check_cie(s, offset) : cfi_check_function(s, offset)))
            return false;
        offset += sizeof len + len;
    }
    return true;
}

void cfi_section_release(struct cfi_section *s)
{
    map_release(&s->expressions);
}
