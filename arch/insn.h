/* As much of machine code as unwinding needs: instruction lengths, the calls that may end before a
 * return address, and how a prologue lays out its frame.  What a machine's decoder does not know it
 * says is unknown, and the unwinder does without.  Pure: bytes in, facts out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INSN_MAX_BYTES = 15, CALL_MAX_BYTES = 7 };

/* Length of the first instruction in BYTES; 0: unknown, or it does not fit into LEN. */
size_t insn_length(const uint8_t *bytes, size_t len);

enum call_kind {
    CALL_NONE,
    CALL_DIRECT,   /* call rel32: target is a distance from the return address */
    CALL_SLOT,     /* call [rip + disp32]: so is the slot's address */
    CALL_INDIRECT, /* through a register or other memory */
};
/* What kind of call can end at the end of BYTES (the LEN bytes before a return address).  RET_REL
 * is written for CALL_DIRECT and CALL_SLOT. */
enum call_kind call_before(const uint8_t *bytes, size_t len, int64_t *ret_rel);

/* Is there, among the instructions of CODE, a direct jump to the address TARGET bytes from its
 * start? */
bool code_jumps_to(const uint8_t *code, size_t len, int64_t target);

/* Is there a jump out of CODE, or one through a register or memory, among its instructions up to
 * the first that is unknown? */
bool code_jumps_away(const uint8_t *code, size_t len);

/* From behind clone's system call to behind the return in the parent. */
enum { CLONE_RETURN_LEAST_BYTES = 8, CLONE_RETURN_MAX_BYTES = 12 };
/* Is AT in CODE an instruction behind the system call of glibc's clone or clone3, up to the return
 * in the parent?  CFI ends before that call, because the new thread goes on there with another
 * stack.  CODE reaches from CLONE_RETURN_MAX_BYTES + 2 before AT to as many behind it, as far as
 * there is code.
 * Source: glibc sysdeps/unix/sysv/linux/x86_64/clone.S, clone3.S. */
bool code_is_behind_clone(const uint8_t *code, size_t len, size_t at);

enum { NOP_BYTES = 1 };
bool code_is_nop(const uint8_t code[NOP_BYTES]);

/* If CODE, a PLT stub, jumps through a slot, writes the slot's distance from the stub's start. */
bool plt_stub_slot(const uint8_t *code, size_t len, int64_t *ret_rel);

struct prologue {
    size_t end;     /* bytes of code up to the first jump, call, return or system call after it */
    uint64_t depth; /* bytes between the final rsp and rbp, but for what aligning rsp took */
    uint64_t align; /* rsp was made a multiple of it, below rbp; 0: it was not */
    uint64_t below; /* bytes between the final rsp and where it was aligned */
    bool is_drap;   /* the stack was aligned; the return address was pushed a second time */
};
/* Decodes a function that sets rbp up as its frame pointer and then lowers rsp by constants only
 * (pushes, sub, probing loops), or aligns it once, to 64 bytes at most.  CODE is all of the
 * function.  Returns 0 or -ENOENT: there is no frame pointer, or an instruction may change rsp
 * by an amount that is not known here (alloca). */
int prologue_decode(const uint8_t *code, size_t len, struct prologue *ret);
/* Does CODE go on with pop or ret, perhaps behind instructions that clear registers?  There rsp
 * need not be where the prologue left it: lea rsp, [rbp − N] may come before. */
bool prologue_is_undone(const uint8_t *code, size_t len);
/* May rbp be RBP where rsp is SP?  Where rsp was aligned, one to four places are possible: a
 * function is entered with rsp + 8 a multiple of 16 (System V psABI, 3.2.2), so its rbp is a
 * multiple of 16. */
bool prologue_fits(const struct prologue *p, uint64_t sp, uint64_t rbp);
