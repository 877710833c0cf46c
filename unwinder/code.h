/* The target's machine code, as its ELF files have it: the call before a return address. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"
#include "target/modules.h"

/* Copies code at ADDR.  Returns 0 or -EFAULT (no module there, or not executable). */
int code_read(struct modules *modules, uint64_t addr, void *buf, size_t len);
/* The same, also of code that no file holds, as it is in the target now. */
int code_read_any(struct modules *modules, uint64_t addr, void *buf, size_t len);
/* The kind of call right before RETURN_ADDR; CALL_NONE also if there is no code.  RET is written
 * for CALL_DIRECT, with its target, and for CALL_SLOT, with the slot. */
enum call_kind code_call(struct modules *modules, uint64_t return_addr, uint64_t *ret);
/* Is there, at ADDR, the code a signal handler returns to: the system call rt_sigreturn? */
bool code_is_sigreturn(struct modules *modules, uint64_t addr);
/* Is ADDR behind the system call of clone (code_is_behind_clone)? */
bool code_is_clone_return(struct modules *modules, uint64_t addr);
/* Is there a PLT stub at ADDR? */
bool code_is_stub(struct modules *modules, uint64_t addr);

enum call_target_check {
    CALL_TO_IT,     /* the call before the return address leads to that function for sure */
    CALL_ELSEWHERE, /* it leads somewhere else, or there is no call */
    CALL_UNKNOWN,   /* an indirect call */
};
/* Does the call before RETURN_ADDR lead to FUNCTION: directly, through the PLT or a GOT slot, or
 * through a direct tail jump?  The name in a slot's relocation says where it leads, because its
 * value is not recorded. */
enum call_target_check code_check_call_target(struct modules *modules, uint64_t return_addr,
                                              uint64_t function);

enum callee {
    CALLEE_NONE, /* there is no call, or it leads into another module than was asked about */
    CALLEE_ANY,  /* an indirect call */
    CALLEE_AT,   /* the function at an address that is known */
};
/* The destination of the call before RETURN_ADDR, as far as that is code in the module at NEAR, or
 * code in no module.  RET is written for CALLEE_AT. */
enum callee code_callee(struct modules *modules, uint64_t return_addr, uint64_t near,
                        uint64_t *ret);
/* Does the function at TARGET jump out of itself, or to an address that is not known?  BYTES is
 * its length, 0: unknown.  Only its first 4096 bytes are looked at. */
bool code_jumps_on(struct modules *modules, uint64_t target, uint64_t bytes);
