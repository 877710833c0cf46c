#include "tests/support/merge_stage.h"

#include "base/text.h"

#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/mem_image.h"

void stage_open(struct stage *s)
{
    *s = (struct stage){.rt = {.module_start = INTERPRETER, .module_end = INTERPRETER_END},
                        .mem = mem_image_new(),
                        .syscall = -1};
    s->merger = py_merger_new(&s->rt);
    s->native = (struct native_stack){.frames = s->native_frames, .capacity = MOST};
    s->py = (struct py_stack){.frames = s->py_frames, .capacity = MOST};
    s->out =
        (struct merged_stack){.frames = s->merged_frames, .capacity = py_merge_room(MOST, MOST)};
}

void stage_close(struct stage *s)
{
    py_merger_free(s->merger);
    mem_free(s->mem);
}

static uint64_t function_of(char letter)
{
    return letter == 'e'                    ? EVAL
           : letter == 'k'                  ? COLD
           : letter == 'c'                  ? CALL
           : letter == 'x' || letter == 's' ? FOREIGN
                                            : 0;
}

void set_native(struct stage *s, const char *letters)
{
    s->letters = letters;
    s->native.n = strlen(letters);
    s->native.end = UNWIND_DONE;
    for (size_t i = 0; i < s->native.n; i++) {
        uint64_t function = function_of(letters[i]);
        s->native_frames[i] = (struct native_frame){
            .pc = function ? function + 0x10 : 0xbad0,
            .function = function,
            .sp = STACK + i * FRAME_BYTES,
            .cfa = STACK + (i + 1) * FRAME_BYTES,
            .is_signal = letters[i] == 's',
        };
    }
}

uint64_t marker_of(const struct stage *s, char eval_frame)
{
    if (eval_frame == 'v')
        return STACK - 8;
    size_t i = eval_frame == '^' ? s->native.n : (size_t)(eval_frame - '0');
    return STACK + i * FRAME_BYTES + MARKER_AT;
}

void set_python(struct stage *s, const char *eval_frames)
{
    s->py.n = strlen(eval_frames);
    s->py.n_states = 1;
    s->py.state_ends[0] = s->py.n;
    s->py.end = PY_WALK_DONE;
    for (size_t i = 0; i < s->py.n; i++)
        s->py_frames[i] = (struct py_frame){
            .self = SELF + i * 0x200,
            .entry = eval_frames[i] != eval_frames[i + 1],
            .marker = marker_of(s, eval_frames[i]),
        };
}

void without_markers(struct stage *s)
{
    for (size_t i = 0; i < s->py.n; i++) {
        s->py_frames[i].marker = 0;
        s->py_frames[i].entry = true;
    }
}

void hold(struct stage *s, size_t i, size_t p, int reg)
{
    struct native_frame *f = &s->native_frames[i];
    uint64_t self = s->py_frames[p].self;
    if (reg < 0) {
        ck_assert_int_eq(mem_image_add(s->mem, f->sp + MARKER_AT, &self, sizeof self), 0);
        return;
    }
    f->regs.r[reg] = self;
    f->regs.known |= 1U << reg;
}

void fill_words(struct stage *s, const uint64_t *held_at, size_t n)
{
    static const uint8_t zeros[FRAME_BYTES];
    for (size_t i = 0; i < s->native.n; i++) {
        uint64_t sp = s->native_frames[i].sp;
        bool has = false;
        for (size_t k = 0; k < n; k++)
            has |= held_at[k] == i;
        mem_image_add(s->mem, sp, zeros, has ? MARKER_AT : FRAME_BYTES);
        if (has)
            mem_image_add(s->mem, sp + MARKER_AT + 8, zeros, FRAME_BYTES - MARKER_AT - 8);
    }
}

static char letter_of(const struct stage *s, const struct merged_frame *f)
{
    if (f->kind == MERGED_NATIVE)
        return s->letters[f->index];
    if (f->kind == MERGED_PYTHON)
        return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[f->index];
    if (str_eq(f->note, "[native frames not matched]"))
        return '!';
    return (char)(f->note[1] == 'g' ? '<' : f->note[1] == 'n' ? '~' : '?');
}

const char *merged(struct stage *s)
{
    static char text[3 * MOST];
    py_merge(s->merger, s->mem, &s->native, &s->py, s->syscall, &s->out);
    for (size_t i = 0; i < s->out.n; i++)
        text[i] = letter_of(s, &s->merged_frames[i]);
    text[s->out.n] = '\0';
    return text;
}

void stage_open_taught(struct stage *s)
{
    stage_open(s);
    set_native(s, "e");
    set_python(s, "0");
    (void)merged(s);
}

void assert_merged(struct stage *s, const char *what, const char *want, enum py_merge_result result)
{
    const char *got = merged(s);
    ck_assert_msg(!strcmp(got, want) && s->out.result == result, "%s: %s, result %d", what, got,
                  (int)s->out.result);
}
