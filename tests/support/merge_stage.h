/* A stage for tests of the merge: stacks written as texts. */
#pragma once

#include "pyframes/py_layout.h"
#include "pyframes/py_merge.h"

/* A native stack is a text, innermost frame first, one letter each:
 *   e  the eval loop      k  its cold part     c  other code of the interpreter
 *   x  foreign code       j  code without unwind information     s  a signal trampoline
 * A Python stack is a text too, one character per frame: the native index of its eval frame; '^'
 * one above all, 'v' one below all, '0' + … ; frames with the same one are one block.
 * A merged stack reads: native letters, Python frames as upper-case letters from A (innermost),
 * notes '<' greenlet, '~' native frames missing, '!' not matched, '?' Python frames missing. */
enum {
    INTERPRETER = 0x400000,
    EVAL = INTERPRETER + 0x1000,
    CALL = INTERPRETER + 0x2000,
    COLD = INTERPRETER + 0x9000,
    INTERPRETER_END = INTERPRETER + 0x100000,
    FOREIGN = 0x700000,
    STACK = 0x10000,
    FRAME_BYTES = 0x100,
    MARKER_AT = 0x40, /* above sp */
    SELF = 0x900000,
    MOST = 64,
};

struct stage {
    struct py_runtime rt;
    struct py_merger *merger;
    struct mem *mem;
    struct native_frame native_frames[MOST];
    struct py_frame py_frames[MOST];
    struct merged_frame merged_frames[3 * MOST + 8];
    const char *letters;
    int64_t syscall;
    struct native_stack native;
    struct py_stack py;
    struct merged_stack out;
};

void stage_open(struct stage *s);
void stage_open_taught(struct stage *s); /* its merger knows the eval loop */
void stage_close(struct stage *s);
void set_native(struct stage *s, const char *letters);
/* Of one thread state, walked to the end. */
void set_python(struct stage *s, const char *eval_frames);
uint64_t marker_of(const struct stage *s, char eval_frame);
/* As before 3.10: every frame is a block of its own. */
void without_markers(struct stage *s);
/* Native frame I holds a pointer to Python frame P: in register REG, or (REG < 0) in a word. */
void hold(struct stage *s, size_t i, size_t p, int reg);
/* Fills the other words of the C frames; HELD_AT: native frames that have a word already. */
void fill_words(struct stage *s, const uint64_t *held_at, size_t n);
/* Merges and returns the merged stack as a text. */
const char *merged(struct stage *s);
/* It is WANT, with RESULT.  WHAT: for the message. */
void assert_merged(struct stage *s, const char *what, const char *want,
                   enum py_merge_result result);
