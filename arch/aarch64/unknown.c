/* A stub: what nobody has written for aarch64.  Each answer is "unknown", so that the rest of
 * wallspy compiles, and machine_refusal() keeps anybody from running it.  A port replaces these
 * functions one by one, in files called as those of arch/x86_64; docs/porting.md has the answers
 * on paper, and the order. */
#include <errno.h>

#include "arch/code_path.h"
#include "arch/insn.h"
#include "arch/signal_frame.h"
#include "arch/stop.h"
#include "arch/stores.h"
#include "arch/syscalls.h"

/* ---- stop.h ---- */

const size_t stop_result_at = 0;

void stop_describe(const struct user_regs_struct *user, struct stopped *ret)
{
    (void)user;
    *ret = (struct stopped){.call = -1};
}

void call_arguments(const struct regs *regs, uint64_t ret[6])
{
    for (unsigned i = 0; i < 6; i++)
        ret[i] = regs->r[REG_ARGUMENT + i];
}

/* ---- syscalls.h ---- */

const char *syscall_name(int64_t number)
{
    (void)number;
    return NULL;
}

bool syscall_takes_fd(int64_t number)
{
    (void)number;
    return false;
}

int syscall_path_argument(int64_t number)
{
    (void)number;
    return -1;
}

enum syscall_flow syscall_flow(int64_t number)
{
    (void)number;
    return FLOW_NONE;
}

bool syscall_polls(int64_t number)
{
    return number == SYS_ppoll;
}

bool syscall_polls_nothing(int64_t number, const uint64_t args[6])
{
    return syscall_polls(number) ? !args[1] : number == SYS_pselect6 && !args[0];
}

bool syscall_needs_repair(int64_t number, const uint64_t args[6])
{
    (void)number, (void)args;
    return false;
}

bool syscall_restarts_cleanly(int64_t number)
{
    (void)number;
    return false;
}

bool syscall_has_restart_block(int64_t number)
{
    (void)number;
    return false;
}

bool syscall_only_waits(int64_t number)
{
    (void)number;
    return false;
}

bool syscall_mostly_sleeps(int64_t number)
{
    (void)number;
    return false;
}

bool syscall_restarts_late(int64_t number)
{
    (void)number;
    return false;
}

bool syscall_was_cut(int64_t number, const uint64_t args[6], int64_t result)
{
    (void)number, (void)args, (void)result;
    return false;
}

/* ---- signal_frame.h ---- */

size_t signal_registers(struct signal_register ret[REG_COUNT])
{
    (void)ret;
    return 0;
}

bool signal_context_left(const uint8_t *context, uint64_t addr, uint64_t *ret_sp)
{
    (void)context, (void)addr, (void)ret_sp;
    return false;
}

/* ---- insn.h ---- */

size_t insn_length(const uint8_t *bytes, size_t len)
{
    (void)bytes, (void)len;
    return 0;
}

enum call_kind call_before(const uint8_t *bytes, size_t len, int64_t *ret_rel)
{
    (void)bytes, (void)len, (void)ret_rel;
    return CALL_NONE;
}

bool code_jumps_to(const uint8_t *code, size_t len, int64_t target)
{
    (void)code, (void)len, (void)target;
    return false;
}

bool code_jumps_away(const uint8_t *code, size_t len)
{
    (void)code, (void)len;
    return false;
}

bool code_is_behind_clone(const uint8_t *code, size_t len, size_t at)
{
    (void)code, (void)len, (void)at;
    return false;
}

bool code_is_nop(const uint8_t code[NOP_BYTES])
{
    (void)code;
    return false;
}

bool plt_stub_slot(const uint8_t *code, size_t len, int64_t *ret_rel)
{
    (void)code, (void)len, (void)ret_rel;
    return false;
}

int prologue_decode(const uint8_t *code, size_t len, struct prologue *ret)
{
    (void)code, (void)len, (void)ret;
    return -ENOENT;
}

bool prologue_is_undone(const uint8_t *code, size_t len)
{
    (void)code, (void)len;
    return false;
}

bool prologue_fits(const struct prologue *p, uint64_t sp, uint64_t rbp)
{
    (void)p, (void)sp, (void)rbp;
    return false;
}

/* ---- stores.h ---- */

bool code_stores(const uint8_t *bytes, size_t from, size_t to, uint32_t offset, uint32_t value,
                 bool any)
{
    (void)bytes, (void)from, (void)to, (void)offset, (void)value, (void)any;
    return false;
}

bool code_exchanges(const uint8_t *bytes, size_t n, uint32_t offset)
{
    (void)bytes, (void)n, (void)offset;
    return false;
}

/* ---- code_path.h: there is no code to follow ---- */

bool code_window_decode(struct code_window *w, uint64_t at, struct insn *ret)
{
    (void)w, (void)at, (void)ret;
    return false;
}

struct path path_begin(uint64_t at)
{
    return (struct path){.at = at};
}

enum path_effect path_apply(struct path *p, const struct insn *i)
{
    (void)p, (void)i;
    return PATH_ENDS;
}

uint64_t insn_jump_target(const struct insn *i)
{
    return i->next;
}

uint16_t insn_return_pops(const struct insn *i)
{
    (void)i;
    return 0;
}

int insn_loads_call_number(const struct insn *i)
{
    (void)i;
    return -1;
}

bool insn_calls_kernel(const struct insn *i)
{
    (void)i;
    return false;
}

bool insn_halts(const struct insn *i)
{
    (void)i;
    return false;
}

bool insn_begins_function(const struct insn *i)
{
    (void)i;
    return false;
}
