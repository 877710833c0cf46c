/* The target's machine code, as its ELF files have it: what a return address follows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/modules.h"
#include "unwinder/insn.h"

/* Copies code at ADDR.  Returns 0 or -EFAULT (no module there, or not executable). */
int code_read(struct modules *modules, uint64_t addr, void *buf, size_t len);
/* The same, also of code that no file holds, as it is in the target now. */
int code_read_any(struct modules *modules, uint64_t addr, void *buf, size_t len);
/* The kind of call right before RETURN_ADDR; CALL_NONE also if there is no code.  RET is written for
 * CALL_DIRECT, its target, and CALL_SLOT, the slot. */
enum call_kind code_call(struct modules *modules, uint64_t return_addr, uint64_t *ret);
/* Is there, at ADDR, the code a signal handler returns to: the system call rt_sigreturn? */
bool code_is_sigreturn(struct modules *modules, uint64_t addr);
/* Is ADDR behind the system call of clone (code_is_behind_clone)? */
bool code_is_clone_return(struct modules *modules, uint64_t addr);
/* Is there a PLT stub at ADDR? */
bool code_is_stub(struct modules *modules, uint64_t addr);

enum call_verdict {
    CALL_TO_IT,     /* the call before the return address leads to that function for sure */
    CALL_ELSEWHERE, /* it leads somewhere else, or there is no call */
    CALL_UNKNOWN,   /* an indirect call */
};
/* Does the call before RETURN_ADDR lead to FUNCTION: directly, through the PLT or a GOT slot (by
 * the name in its relocation: the slot's value is not recorded), or through a direct tail jump? */
enum call_verdict code_call_leads_to(struct modules *modules, uint64_t return_addr,
                                     uint64_t function);

enum callee {
    CALLEE_NONE, /* there is no call, or it leads into another module than was asked about */
    CALLEE_ANY,  /* an indirect call */
    CALLEE_AT,   /* the function at an address that is known */
};
/* What the call before RETURN_ADDR leads to, as far as that concerns code in the module at NEAR, or
 * in none.  RET is written for CALLEE_AT. */
enum callee code_callee(struct modules *modules, uint64_t return_addr, uint64_t near,
                        uint64_t *ret);
/* Is there a jump to somewhere else, or to where nobody knows, in the function at TARGET, of BYTES
 * or, if that is
 * 0, some?  Of more than 4096 bytes only the first are looked at. */
bool code_jumps_on(struct modules *modules, uint64_t target, uint64_t bytes);
