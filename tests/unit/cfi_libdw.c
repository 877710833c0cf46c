/* Rules of CFI are those that libdw gives: at each row of each function of this program, of the
 * libraries that it has loaded, the vdso among them, and of the files that are named.  Where libdw
 * knows no CFA (it refuses a register that comes behind an expression) nothing is compared.
 *
 * usage: cfi_libdw FILE…
 *
 * Prints what differs and exits 1. */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "target/mem.h"
#include "unwinder/cfi.h"
#include "unwinder/expression.h"

enum { MAX_DIFFERENCES = 20 };

struct subject {
    const char *name;
    struct cfi *cfi;
    Dwarf_CFI *eh, *debug;
    uint64_t rows, gaps, without_cfa, expressions, different;
    uint64_t ns, libdw_ns;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- what libdw says ---- */

/* A value in libdw's words. */
struct wanted {
    const Dwarf_Op *ops;
    size_t n;
    bool is_value;
};

static bool is_breg(const Dwarf_Op *op, struct value_rule *ret)
{
    bool is_bregx = op->atom == DW_OP_bregx;
    if (!is_bregx && (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg16))
        return false;
    const uint64_t reg = is_bregx ? op->number : (uint64_t)op->atom - DW_OP_breg0;
    const uint64_t offset = is_bregx ? op->number2 : op->number;
    *ret = (struct value_rule){VALUE_REG, (uint8_t)reg, 0, (int32_t)offset};
    return true;
}

/* The value of the one operation that begins at BYTES, if it only pushes. */
static void check_operand(struct subject *s, const Dwarf_Op *op, const uint8_t *bytes, size_t len)
{
    struct regs regs = {.known = (1U << X86_COUNT) - 1};
    const struct expression e = {.bytes = bytes, .n = len};
    const struct expression_input in = {.regs = &regs};
    struct value_rule breg;
    uint64_t value;
    uint64_t want = op->number;
    for (unsigned i = 0; i < X86_COUNT; i++)
        regs.r[i] = UINT64_C(0x100000001) * i;
    if (is_breg(op, &breg))
        want = regs.r[breg.reg] + (uint64_t)(int64_t)breg.offset;
    else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
        want = (uint64_t)op->atom - DW_OP_lit0;
    else if (op->atom < DW_OP_const1u || op->atom > DW_OP_consts)
        return;
    s->different += expression_run(&e, &in, &value) < 0 || value != want;
}

/* Are the N bytes of a rule's expression those that libdw decoded? */
static bool same_expression(struct subject *s, const struct value_rule *got, const uint8_t *bytes,
                            const struct wanted *want)
{
    const uint8_t *at = bytes + got->offset;
    s->expressions++;
    for (size_t i = 0; i < want->n; i++) {
        const Dwarf_Op *op = &want->ops[i];
        size_t end = i + 1 < want->n ? want->ops[i + 1].offset : got->n;
        if (op->offset >= end || end > got->n || at[op->offset] != op->atom)
            return false;
        check_operand(s, op, at + op->offset, end - op->offset);
    }
    return want->n;
}

/* The linkers' expression for PLTs.  libdw decodes it in nine operations. */
static bool same_plt(const struct value_rule *got, const struct wanted *want)
{
    static const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, DW_OP_nop,
                                    DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
    if (want->n != sizeof atoms || want->ops[0].number != (uint64_t)(int64_t)got->offset ||
        want->ops[1].number != 0 || want->ops[4].atom != DW_OP_lit0 + (unsigned)got->n)
        return false;
    for (size_t i = 0; i < sizeof atoms; i++)
        if (atoms[i] != DW_OP_nop && want->ops[i].atom != atoms[i])
            return false;
    return true;
}

static bool same_bytes(const struct value_rule *a, const struct value_rule *b)
{
    return a->kind == b->kind && a->reg == b->reg && a->offset == b->offset;
}

static bool same_cfa(struct subject *s, const struct rule *got, const struct wanted *want)
{
    struct value_rule v;
    if (got->cfa.kind == VALUE_PLT)
        return same_plt(&got->cfa, want);
    if (got->cfa.kind == VALUE_EXPR)
        return same_expression(s, &got->cfa, got->bytes, want);
    if (!want->n || !is_breg(want->ops, &v))
        return false;
    if (want->n == 2 && want->ops[1].atom == DW_OP_deref)
        v.kind = VALUE_AT_REG;
    return want->n <= 2 && same_bytes(&got->cfa, &v);
}

/* libdw puts the CFA before a register's expression. */
static bool same_value(struct subject *s, const struct value_rule *got, const uint8_t *bytes,
                       struct wanted want)
{
    struct value_rule v = {.kind = want.is_value ? VALUE_CFA : VALUE_AT_CFA};
    if (want.n == 1 && want.ops[0].atom == DW_OP_regx) {
        v = (struct value_rule){VALUE_REG, (uint8_t)want.ops[0].number, 0, 0};
        return same_bytes(got, &v);
    }
    if (!want.n || want.ops[0].atom != DW_OP_call_frame_cfa)
        return false;
    want.ops++;
    want.n--;
    if (got->kind == (want.is_value ? VALUE_EXPR : VALUE_AT_EXPR))
        return same_expression(s, got, bytes, &want);
    if (want.n == 1 && want.ops[0].atom == DW_OP_plus_uconst)
        v.offset = (int32_t)want.ops[0].number;
    else if (want.n == 1 && is_breg(&want.ops[0], &v))
        v.kind = want.is_value ? VALUE_REG : VALUE_AT_REG;
    else if (want.n)
        return false;
    return same_bytes(got, &v);
}

/* Where libdw has no operations, RULED says that it is undefined, as of those that it was told
 * nothing of; else it is the same, or one of libdw's defaults.  Those (0.188) take rax for rbx. */
static bool same_unsaved(const struct value_rule *got, unsigned reg, bool undefined)
{
    const uint32_t preserved =
        1U << X86_RBP | 1U << X86_R12 | 1U << X86_R13 | 1U << X86_R14 | 1U << X86_R15;
    if (reg == X86_RSP) /* is the CFA where nothing is said */
        return got->kind == VALUE_CFA && got->offset == 0;
    if (reg == X86_RBX)
        return got->kind <= VALUE_SAME;
    return got->kind == (!undefined && preserved & 1U << reg ? VALUE_SAME : VALUE_UNDEFINED);
}

static bool same_register(struct subject *s, const struct rule *got, Dwarf_Frame *frame,
                          unsigned reg)
{
    Dwarf_Op mem[3], *ops;
    size_t n;
    if (dwarf_frame_register(frame, (int)reg, mem, &ops, &n) < 0)
        return false;
    if (n == 0)
        return same_unsaved(&got->values[reg], reg, ops != NULL);
    bool is_value = ops[n - 1].atom == DW_OP_stack_value;
    return same_value(s, &got->values[reg], got->bytes,
                      (struct wanted){ops, n - is_value, is_value});
}

static bool same_rule(struct subject *s, const struct rule *got, Dwarf_Frame *frame)
{
    Dwarf_Op *ops;
    size_t n;
    bool is_signal;
    if (dwarf_frame_info(frame, NULL, NULL, &is_signal) < 0 || is_signal != got->is_signal ||
        dwarf_frame_cfa(frame, &ops, &n) < 0 || !same_cfa(s, got, &(struct wanted){ops, n, false}))
        return false;
    for (unsigned reg = 0; reg < X86_COUNT; reg++)
        if (!same_register(s, got, frame, reg))
            return false;
    return true;
}

/* ---- a file ---- */

static bool has_cfa(Dwarf_Frame *frame)
{
    Dwarf_Op *ops;
    size_t n;
    return dwarf_frame_cfa(frame, &ops, &n) == 0;
}

static Dwarf_Frame *ask_libdw(const struct subject *s, uint64_t addr)
{
    Dwarf_Frame *frame;
    if (s->eh && dwarf_cfi_addrframe(s->eh, addr, &frame) == 0)
        return frame;
    return s->debug && dwarf_cfi_addrframe(s->debug, addr, &frame) == 0 ? frame : NULL;
}

static void compare_at(struct subject *s, uint64_t addr, Dwarf_Frame *frame)
{
    struct rule got;
    struct addr_range function;
    const uint64_t start = now_ns();
    int r = cfi_find(s->cfi, addr, &got, &function);
    s->ns += now_ns() - start;
    bool same = frame ? r == 0 && addr - function.start < function.len && same_rule(s, &got, frame)
                      : r == -ENOENT;
    if (!same && s->different++ < MAX_DIFFERENCES)
        printf("%s: %#" PRIx64 ": libdw has %s, here %s\n", s->name, addr,
               frame ? "a rule" : "none",
               r       ? "none"
               : frame ? "another"
                       : "one");
}

/* Compares at the row of ADDR, or where there is none.  Returns the next address. */
static uint64_t compare_row(struct subject *s, uint64_t addr)
{
    Dwarf_Addr end = addr + 1;
    const uint64_t start = now_ns();
    Dwarf_Frame *frame = ask_libdw(s, addr);
    s->libdw_ns += now_ns() - start;
    if (frame)
        (void)dwarf_frame_info(frame, NULL, &end, NULL);
    bool is_known = !frame || has_cfa(frame);
    s->without_cfa += !is_known;
    s->rows += frame && is_known;
    s->gaps += !frame;
    if (is_known)
        compare_at(s, addr, frame);
    if (is_known && end > addr + 1)
        compare_at(s, end - 1, frame);
    free(frame);
    return end > addr ? end : addr + 1;
}

static void compare_code(struct subject *s, Elf *elf)
{
    size_t n;
    GElf_Phdr ph;
    if (elf_getphdrnum(elf, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_X)
            for (uint64_t at = ph.p_vaddr; at < ph.p_vaddr + ph.p_filesz;)
                at = compare_row(s, at);
}

/* Frees F.  Returns whether all is the same. */
static bool compare(const char *name, struct elf_file *f)
{
    struct subject s = {.name = name, .cfi = cfi_open(f)};
    Elf *elf = elf_file_elf(f);
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    s.eh = dwarf_getcfi_elf(elf);
    s.debug = dwarf ? dwarf_getcfi(dwarf) : NULL;
    compare_code(&s, elf);
    printf("%s: %" PRIu64 " rows, %" PRIu64 " bytes without, %" PRIu64
           " rows without a CFA, %" PRIu64 " expressions, %" PRIu64
           " different; %.2f us a rule, libdw %.2f us a row\n",
           name, s.rows, s.gaps, s.without_cfa, s.expressions, s.different,
           (double)s.ns / 1e3 / (double)(2 * s.rows + s.gaps + 1),
           (double)s.libdw_ns / 1e3 / (double)(s.rows + s.gaps + 1));
    if (s.eh)
        dwarf_cfi_end(s.eh);
    dwarf_end(dwarf);
    cfi_free(s.cfi);
    elf_file_free(f);
    return s.different == 0 && s.rows > 0;
}

static bool compare_file(const char *path)
{
    struct elf_file *f;
    int r = elf_file_open(&f, path, NULL);
    if (r < 0)
        printf("%s: not compared: %s\n", path, strerror(-r));
    return r < 0 ? r == -ENOEXEC /* a script */ : compare(path, f);
}

static bool compare_vdso(uint64_t base)
{
    struct elf_file *f;
    struct mem *mem;
    if (mem_live_open(&mem, getpid(), NULL) < 0)
        return false;
    int r = elf_file_from_memory(&f, mem, base, NULL);
    mem_free(mem);
    return r == 0 && compare("vdso", f);
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *failed)
{
    (void)size;
    bool is_vdso = strstr(info->dlpi_name, "linux-vdso");
    const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    *(bool *)failed |= is_vdso ? !compare_vdso(info->dlpi_addr) : !compare_file(path);
    return 0;
}

int main(int argc, char **argv)
{
    bool failed = false;
    (void)dlopen("libstdc++.so.6", RTLD_LAZY);
    (void)dl_iterate_phdr(compare_loaded, &failed);
    for (int i = 1; i < argc; i++)
        failed |= !compare_file(argv[i]);
    return failed;
}
