#include "unwinder/code.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "arch/elf_machine.h"
#include "target/elf_strings.h"

/* How far into a called function a tail jump is looked for.  Such functions are short, and the
 * code beyond may be another function. */
enum { MAX_TAIL_BYTES = 512, MAX_STUB_BYTES = 16 };
/* Of one file, in all its tables: torch's largest has 357,000, which take 1.6 ms. */
enum { MAX_RELOCATIONS = 1 << 22 };

int code_read(struct modules *modules, uint64_t addr, void *buf, size_t len)
{
    struct module *module = modules_find(modules, addr);
    struct elf_file *elf = module ? module_elf(modules, module) : NULL;
    if (!elf || !elf_file_is_code(elf, addr - module->bias))
        return -EFAULT;
    return elf_file_read(elf, addr - module->bias, buf, len);
}

int code_read_any(struct modules *modules, uint64_t addr, void *buf, size_t len)
{
    struct module *module = modules_find(modules, addr);
    struct elf_file *elf = module ? module_elf(modules, module) : NULL;
    /* An image from memory may lack code: its budget may be spent. */
    int r = elf ? code_read(modules, addr, buf, len) : -EFAULT;
    if (r == 0 || (elf && elf_file_is_file(elf)))
        return r;
    return modules_read_code(modules, addr, buf, len);
}

enum call_kind code_call(struct modules *modules, uint64_t return_addr, uint64_t *ret)
{
    uint8_t bytes[CALL_MAX_BYTES];
    int64_t rel;
    if (code_read_any(modules, return_addr - sizeof bytes, bytes, sizeof bytes) < 0)
        return CALL_NONE;
    enum call_kind kind = call_before(bytes, sizeof bytes, &rel);
    if (kind == CALL_DIRECT || kind == CALL_SLOT)
        *ret = return_addr + (uint64_t)rel;
    return kind;
}

/* mov $__NR_rt_sigreturn, %rax; syscall: the kernel's ABI. */
bool code_is_sigreturn(struct modules *modules, uint64_t addr)
{
    static const uint8_t want[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    uint8_t code[sizeof want];
    return code_read(modules, addr, code, sizeof code) == 0 && memcmp(code, want, sizeof want) == 0;
}

bool code_is_clone_return(struct modules *modules, uint64_t addr)
{
    enum { AT = CLONE_RETURN_MAX_BYTES + 2 };
    uint8_t code[2 * AT];
    return code_read(modules, addr - AT, code, sizeof code) == 0 &&
           code_is_behind_clone(code, sizeof code, AT);
}

static bool stub_slot(struct modules *modules, uint64_t addr, uint64_t *ret)
{
    uint8_t code[MAX_STUB_BYTES];
    int64_t rel;
    if (code_read(modules, addr, code, sizeof code) < 0 || !plt_stub_slot(code, sizeof code, &rel))
        return false;
    *ret = addr + (uint64_t)rel;
    return true;
}

bool code_is_stub(struct modules *modules, uint64_t addr)
{
    uint64_t ignored;
    return stub_slot(modules, addr, &ignored);
}

/* The content of a GOT slot. */
enum slot_kind {
    SLOT_UNKNOWN,
    SLOT_KNOWN,    /* the address is known */
    SLOT_ELSEWHERE /* a function that is exported, but not by the module that was asked about */
};

/* The address that relocation REL, of a section with header H, puts into its slot.  RET is written
 * if that lies in the module at NEAR. */
static enum slot_kind relocated(struct modules *modules, struct module *holder, const GElf_Shdr *h,
                                const GElf_Rela *rel, uint64_t near, uint64_t *ret)
{
    if (GELF_R_TYPE(rel->r_info) == ELF_RELATIVE) {
        *ret = (uint64_t)rel->r_addend + holder->bias;
        return SLOT_KNOWN;
    }
    Elf *elf = elf_file_elf(holder->elf);
    Elf_Scn *symbols = elf_getscn(elf, h->sh_link);
    GElf_Shdr symbols_header;
    GElf_Sym symbol;
    if (!symbols || !gelf_getshdr(symbols, &symbols_header) ||
        !gelf_getsym(elf_getdata(symbols, NULL), (int)GELF_R_SYM(rel->r_info), &symbol))
        return SLOT_UNKNOWN;
    const char *name = elf_string(elf, symbols_header.sh_link, symbol.st_name);
    if (!name || !*name)
        return SLOT_UNKNOWN;
    struct module *callee = modules_find(modules, near);
    struct elf_file *callee_elf = callee ? module_elf(modules, callee) : NULL;
    struct addr_range range;
    if (!callee_elf || elf_file_symbol(callee_elf, name, &range) < 0)
        return SLOT_ELSEWHERE;
    *ret = range.start + callee->bias;
    return SLOT_KNOWN;
}

/* Looks for the relocation that fills the GOT slot at SLOT: relocated(). */
static enum slot_kind slot_target(struct modules *modules, uint64_t slot, uint64_t near,
                                  uint64_t *ret)
{
    struct module *holder = modules_find(modules, slot);
    struct elf_file *f = holder ? module_elf(modules, holder) : NULL;
    if (!f)
        return SLOT_UNKNOWN;
    size_t left = MAX_RELOCATIONS;
    for (Elf_Scn *scn = NULL; left && (scn = elf_nextscn(elf_file_elf(f), scn));) {
        GElf_Shdr h;
        Elf_Data *data;
        if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_RELA || !(data = elf_getdata(scn, NULL)))
            continue;
        GElf_Rela rel;
        for (int i = 0; left && gelf_getrela(data, i, &rel); i++, left--)
            if (rel.r_offset + holder->bias == slot)
                return relocated(modules, holder, &h, &rel, near, ret);
    }
    return SLOT_UNKNOWN;
}

static enum call_target_check check_slot_target(struct modules *modules, uint64_t slot,
                                                uint64_t function)
{
    uint64_t target;
    if (slot_target(modules, slot, function, &target) != SLOT_KNOWN)
        return CALL_UNKNOWN;
    return target == function ? CALL_TO_IT : CALL_ELSEWHERE;
}

/* TARGET was called; is FUNCTION where it leads? */
static enum call_target_check check_target(struct modules *modules, uint64_t target,
                                           uint64_t function)
{
    uint8_t code[MAX_TAIL_BYTES];
    uint64_t slot;
    if (target == function)
        return CALL_TO_IT;
    if (stub_slot(modules, target, &slot)) {
        enum call_target_check v = check_slot_target(modules, slot, function);
        return v == CALL_TO_IT ? v : CALL_ELSEWHERE;
    }
    size_t len = sizeof code; /* less at the end of the code */
    while (len && code_read(modules, target, code, len) < 0)
        len /= 2;
    bool jumps = code_jumps_to(code, len, (int64_t)(function - target));
    return jumps ? CALL_TO_IT : CALL_ELSEWHERE;
}

enum call_target_check code_check_call_target(struct modules *modules, uint64_t return_addr,
                                              uint64_t function)
{
    uint64_t target;
    switch (code_call(modules, return_addr, &target)) {
    case CALL_DIRECT:
        return check_target(modules, target, function);
    case CALL_SLOT:
        return check_slot_target(modules, target, function);
    case CALL_INDIRECT:
        return CALL_UNKNOWN;
    case CALL_NONE:
        break;
    }
    return CALL_ELSEWHERE;
}

enum callee code_callee(struct modules *modules, uint64_t return_addr, uint64_t near, uint64_t *ret)
{
    uint64_t target = 0;
    enum call_kind kind = code_call(modules, return_addr, &target);
    if (kind == CALL_NONE)
        return CALLEE_NONE;
    if (kind == CALL_INDIRECT)
        return CALLEE_ANY;
    if (kind == CALL_SLOT || stub_slot(modules, target, &target)) {
        enum slot_kind slot = slot_target(modules, target, near, &target);
        if (slot != SLOT_KNOWN)
            return slot == SLOT_ELSEWHERE ? CALLEE_NONE : CALLEE_ANY;
    }
    *ret = target;
    return CALLEE_AT;
}

bool code_jumps_on(struct modules *modules, uint64_t target, uint64_t bytes)
{
    enum { MAX_BYTES = 4096 };
    uint8_t code[MAX_BYTES];
    size_t len = !bytes ? MAX_TAIL_BYTES : bytes < sizeof code ? bytes : sizeof code;
    while (len && code_read_any(modules, target, code, len) < 0)
        len /= 2;
    return code_jumps_away(code, len);
}
