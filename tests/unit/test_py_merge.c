#include "pyframes/py_merge.h"

#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/merge_stage.h"

struct case_ {
    const char *what, *native, *python, *want;
    enum py_merge_result result;
    enum unwind_end native_end;
    enum py_walk_end walk_end;
};

/* In each, an earlier merge has shown that e is the eval loop. */
static const struct case_ cases[] = {
    {"no Python", "xcx", "", "xcx", PY_MERGE_NO_PYTHON, 0, 0},
    {"no Python frame, eval kept", "xex", "", "xex", PY_MERGE_NO_PYTHON, 0, 0},
    {"one block", "xcecx", "222", "xcABCcx", PY_MERGE_EXACT, 0, 0},
    {"leaf in the eval loop", "ecx", "00", "ABcx", PY_MERGE_EXACT, 0, 0},
    {"callbacks three deep", "xexcexcecx", "11477", "xABxcCxcDEcx", PY_MERGE_EXACT, 0, 0},
    {"the cold part", "xkcecx", "1133", "xABcCDcx", PY_MERGE_EXACT, 0, 0},
    {"entering", "xecex", "33", "xcABx", PY_MERGE_ENTERING, 0, 0},
    {"entering, at the very top", "ecex", "2", "cAx", PY_MERGE_ENTERING, 0, 0},
    {"two without frames", "ececex", "4", "?c?cAx", PY_MERGE_MISMATCH, 0, 0},
    {"one without frames in between", "xececex", "1155", "xABc?cCDx", PY_MERGE_MISMATCH, 0, 0},
    {"greenlet: a stale tail", "xecxxcececx", "11", "xAB<", PY_MERGE_EXACT, 0, 0},
    {"native ends early", "xcec", "22^^", "xcABc~CD", PY_MERGE_NATIVE_CUT, UNWIND_NO_CFI, 0},
    {"native ends at once", "x", "^^", "x~AB", PY_MERGE_NATIVE_CUT, UNWIND_NO_CFI, 0},
    {"no native at all", "", "^^", "~AB", PY_MERGE_NATIVE_CUT, UNWIND_NEEDS_REGS, 0},
    {"native was not asked for", "", "^^", "AB", PY_MERGE_EXACT, UNWIND_DONE, 0},
    {"marker above a whole stack", "xex", "1^", "xAx!B", PY_MERGE_MISMATCH, 0, 0},
    {"an outer one has no eval frame", "xecex", "1^", "xAc!B?x", PY_MERGE_MISMATCH, 0, 0},
    {"marker below sp", "xex", "v1", "x!ABx", PY_MERGE_MISMATCH, 0, 0},
    {"marker in foreign code", "xexex", "123", "xAx!BCx", PY_MERGE_MISMATCH, 0, 0},
    {"in code without CFI", "xcjcex", "24", "xcAcBx", PY_MERGE_EXACT, 0, 0},
    {"the walk ended early", "xecececx", "11", "xABc?c?cx", PY_MERGE_MISMATCH, 0, PY_WALK_CUT},
    {"nothing was being walked", "xecex", "13", "xAcBx", PY_MERGE_EXACT, 0, PY_WALK_TORN},
};

START_TEST(markers_say_where)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct case_ *c = &cases[i];
        struct stage s;
        stage_open_taught(&s);
        set_native(&s, c->native);
        set_python(&s, c->python);
        s.native.end = c->native_end;
        s.py.end = c->walk_end;
        assert_merged(&s, c->what, c->want, c->result);
        stage_close(&s);
    }
}
END_TEST

START_TEST(what_is_not_proven_to_be_eval_is_plain_code)
{
    struct stage s;
    stage_open(&s);
    set_native(&s, "kcex"); /* the cold part was never seen */
    set_python(&s, "2");
    ck_assert_str_eq(merged(&s), "kcAx");
    ck_assert_int_eq(s.out.result, PY_MERGE_EXACT);
    set_native(&s, "kx");
    set_python(&s, "0");
    merged(&s);
    set_native(&s, "kcex");
    set_python(&s, "2");
    ck_assert_str_eq(merged(&s), "cAx");
    ck_assert_int_eq(s.out.result, PY_MERGE_ENTERING);
    stage_close(&s);
}
END_TEST

START_TEST(markers_lead_on)
{
    struct stage s;
    struct known_frame known[PY_MAX_KNOWN];
    stage_open(&s);
    set_native(&s, "xex");
    set_python(&s, "1");
    merged(&s); /* a frame that is in mid-instruction may not have its full size yet */
    s.native_frames[1].is_call = py_merge_known(s.merger, &s.py, STACK, known) == 0;
    merged(&s);
    set_python(&s, "35");
    ck_assert_uint_eq(py_merge_known(s.merger, &s.py, STACK, known), 1);
    ck_assert(known[0].sp == STACK + 3 * FRAME_BYTES && known[0].cfa == STACK + 4 * FRAME_BYTES);
    ck_assert_uint_eq(py_merge_known(s.merger, &s.py, marker_of(&s, '5'), known), 0);
    set_native(&s, "xecex");
    s.native_frames[1].after_gap = true;
    set_python(&s, "13");
    ck_assert(!strcmp(merged(&s), "x~AcBx") && s.out.result == PY_MERGE_NATIVE_CUT);
    stage_close(&s);
}
END_TEST

START_TEST(guessed_frames_teach_nothing)
{
    struct stage s;
    stage_open(&s);
    set_native(&s, "xcx");
    set_python(&s, "1");
    s.native_frames[1].trust = FRAME_GUESSED;
    ck_assert_str_eq(merged(&s), "xAx");
    set_native(&s, "xcxex");
    set_python(&s, "3");
    ck_assert_str_eq(merged(&s), "xcxAx");
    stage_close(&s);
}
END_TEST

START_TEST(the_symbol_tells_eval_before_the_first_match)
{
    struct stage s;
    stage_open(&s);
    py_merger_free(s.merger);
    s.rt.eval_addr = EVAL;
    s.merger = py_merger_new(&s.rt);
    set_native(&s, "xeckx");
    set_python(&s, "3");
    ck_assert_str_eq(merged(&s), "xcAx");
    ck_assert_int_eq(s.out.result, PY_MERGE_ENTERING);
    stage_close(&s);
}
END_TEST

/* The states were walked one after the other; on the stack they alternate. */
START_TEST(two_interpreters_interleave)
{
    struct stage s;
    stage_open(&s);
    set_native(&s, "xexexexex");
    set_python(&s, "155377");
    ck_assert_str_eq(merged(&s), "xAxDxBCxEFx");
    ck_assert_int_eq(s.out.result, PY_MERGE_EXACT);
    stage_close(&s);
}
END_TEST

/* 3.12+: a block whose end was not read has no marker; one activation is left for it. */
START_TEST(a_remainder_finds_the_next_activation)
{
    struct stage s;
    stage_open(&s);
    set_native(&s, "xececx");
    set_python(&s, "1133");
    s.py.end = PY_WALK_BAD_MEMORY;
    s.py_frames[2].marker = s.py_frames[3].marker = 0;
    s.py_frames[3].entry = false;
    ck_assert(!strcmp(merged(&s), "xABcCD?cx") && s.out.result == PY_MERGE_MISMATCH);
    stage_close(&s);
}
END_TEST

START_TEST(deep_activation_of_signal_stack)
{
    struct stage s;
    stage_open(&s);
    set_native(&s, "xxecex");
    set_python(&s, "24");
    s.native_frames[0].sp = 0x7000000;
    s.native_frames[0].cfa = 0x7000100;
    ck_assert_str_eq(merged(&s), "xxAcBx");
    ck_assert_int_eq(s.out.result, PY_MERGE_EXACT);
    stage_close(&s);
}
END_TEST

/* An activation has left its last frame and runs the destructors of what the frame held. */
START_TEST(what_was_left_has_no_frame)
{
    struct stage s;
    stage_open(&s);
    set_native(&s, "xececex");
    set_python(&s, "1155");
    s.py.left[s.py.n_left++] = marker_of(&s, '3');
    ck_assert_str_eq(merged(&s), "xABccCDx");
    ck_assert_int_eq(s.out.result, PY_MERGE_EXACT);
    s.py.left[s.py.n_left++] = marker_of(&s, '2');
    set_native(&s, "eckcecex"); /* the first is being entered; the second was never seen before */
    set_python(&s, "6");
    s.py.left[0] = marker_of(&s, '4');
    ck_assert_str_eq(merged(&s), "cccAx");
    ck_assert_int_eq(s.out.result, PY_MERGE_ENTERING);
    stage_close(&s);
}
END_TEST

/* ---- up to 3.9 ---- */

static void open_old(struct stage *s, const char *native, size_t python)
{
    stage_open(s);
    s->rt.eval_addr = EVAL;
    py_merger_free(s->merger);
    s->merger = py_merger_new(&s->rt);
    set_native(s, native);
    char eval_frames[MOST] = {0};
    memset(eval_frames, '0', python);
    set_python(s, eval_frames);
    without_markers(s);
}

START_TEST(frames_are_found_in_registers)
{
    struct stage s;
    open_old(&s, "xcecxcecx", 2);
    hold(&s, 7, 1, X86_RBX); /* its maker */
    hold(&s, 6, 1, X86_RBX);
    hold(&s, 5, 1, X86_RBX); /* a callee that left the register alone */
    hold(&s, 3, 0, X86_RBP);
    hold(&s, 2, 0, X86_RBX);
    hold(&s, 2, 1, X86_R12); /* its caller's, still there */
    hold(&s, 1, 0, X86_RBX);
    ck_assert_str_eq(merged(&s), "xcAcxcBcx");
    ck_assert_int_eq(s.out.result, PY_MERGE_EXACT);
    stage_close(&s);
}
END_TEST

START_TEST(frames_are_found_in_words)
{
    struct stage s;
    open_old(&s, "xcecxcecx", 2);
    hold(&s, 6, 1, -1);
    hold(&s, 5, 1, X86_RBX);
    hold(&s, 2, 0, -1);
    fill_words(&s, (uint64_t[]){6, 2}, 2);
    ck_assert_str_eq(merged(&s), "xcAcxcBcx");
    ck_assert_int_eq(s.out.result, PY_MERGE_EXACT);
    stage_close(&s);
}
END_TEST

START_TEST(split_off_parts_are_known_by_their_likeness)
{
    struct stage s;
    open_old(&s, "xckcecx", 2);
    hold(&s, 4, 1, X86_RBX);
    hold(&s, 3, 0, X86_RBP); /* the maker keeps it elsewhere */
    hold(&s, 2, 0, X86_RBX);
    ck_assert_str_eq(merged(&s), "xcAcBcx");
    ck_assert_int_eq(s.out.result, PY_MERGE_EXACT);
    /* From now on it counts as the eval loop. */
    set_native(&s, "kcecx");
    set_python(&s, "0");
    without_markers(&s);
    hold(&s, 2, 0, X86_RBX);
    ck_assert_str_eq(merged(&s), "cAcx");
    ck_assert_int_eq(s.out.result, PY_MERGE_ENTERING);
    stage_close(&s);
}
END_TEST

/* 3.10: there are as many CFrames as frames, by chance. */
START_TEST(counted_markers_that_lie_elsewhere_are_none)
{
    struct stage s;
    open_old(&s, "xecxecx", 2);
    s.rt.layout.traits.chain = PY_CHAIN_OBJECTS_CFRAME;
    hold(&s, 1, 0, X86_RBX);
    hold(&s, 4, 1, X86_RBX);
    s.py_frames[0].marker = marker_of(&s, '3');
    s.py_frames[1].marker = marker_of(&s, '4');
    ck_assert_str_eq(merged(&s), "xAcxBcx");
    ck_assert_int_eq(s.out.result, PY_MERGE_EXACT);
    stage_close(&s);
}
END_TEST

START_TEST(a_frame_not_found_is_kept_in_its_place)
{
    struct stage s;
    open_old(&s, "xecececx", 3);
    hold(&s, 5, 2, X86_RBX);
    hold(&s, 1, 0, X86_RBX);
    ck_assert_str_eq(merged(&s), "xAc?c!BCcx");
    ck_assert_int_eq(s.out.result, PY_MERGE_MISMATCH);
    stage_close(&s);
}
END_TEST

START_TEST(an_old_greenlet_ends_too)
{
    struct stage s;
    open_old(&s, "xececxxcecx", 2);
    hold(&s, 3, 1, X86_RBX);
    hold(&s, 1, 0, X86_RBX);
    ck_assert_str_eq(merged(&s), "xAcB<");
    ck_assert_int_eq(s.out.result, PY_MERGE_EXACT);
    stage_close(&s);
}
END_TEST

/* ---- hostile ---- */

static uint64_t random_addr(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    uint32_t r = *seed >> 8;
    static const uint64_t odd[] = {0, 1, STACK, UINT64_MAX, UINT64_MAX - 8, INTERPRETER, EVAL};
    return r % 4 == 0 ? odd[r % (sizeof odd / sizeof *odd)] : STACK + (r >> 4) % 0x1000;
}

/* Whatever the input: each Python frame once, native frames in order. */
static void check_complete(const struct stage *s)
{
    size_t seen[MOST] = {0};
    size_t next_native = 0;
    for (size_t i = 0; i < s->out.n; i++) {
        const struct merged_frame *f = &s->merged_frames[i];
        if (f->kind == MERGED_PYTHON)
            seen[f->index]++;
        if (f->kind != MERGED_NATIVE)
            continue;
        ck_assert(f->index >= next_native && f->index < s->native.n);
        next_native = f->index + 1;
    }
    for (size_t i = 0; i < s->py.n; i++)
        ck_assert_uint_eq(seen[i], 1);
}

START_TEST(no_python_frame_is_ever_lost)
{
    uint32_t seed = 7;
    struct stage s;
    stage_open(&s);
    for (int round = 0; round < 20000; round++) {
        size_t n = (size_t)round % 13;
        set_native(&s, "ekcxjeekcxjee" + (12 - n));
        s.native.end = (enum unwind_end)(round % UNWIND_END_COUNT);
        s.py.n = (size_t)round / 13 % 17;
        s.py.end = (enum py_walk_end)(round % (PY_WALK_TOO_DEEP + 1));
        for (size_t i = 0; i < s.native.n; i++) {
            struct native_frame *f = &s.native_frames[i];
            if (round % 3) {
                f->sp = random_addr(&seed);
                f->cfa = random_addr(&seed);
            }
            f->regs.known = UINT32_MAX;
            f->regs.r[X86_RBX] = random_addr(&seed);
        }
        for (size_t i = 0; i < s.py.n; i++)
            s.py_frames[i] = (struct py_frame){.self = random_addr(&seed),
                                               .entry = random_addr(&seed) & 1,
                                               .marker = random_addr(&seed) & ~7ULL};
        merged(&s);
        check_complete(&s);
    }
    stage_close(&s);
}
END_TEST

CHECK_MAIN("py_merge", 20, markers_say_where, what_is_not_proven_to_be_eval_is_plain_code,
           guessed_frames_teach_nothing, markers_lead_on,
           the_symbol_tells_eval_before_the_first_match, two_interpreters_interleave,
           a_remainder_finds_the_next_activation, deep_activation_of_signal_stack,
           what_was_left_has_no_frame, frames_are_found_in_registers, frames_are_found_in_words,
           split_off_parts_are_known_by_their_likeness, counted_markers_that_lie_elsewhere_are_none,
           a_frame_not_found_is_kept_in_its_place, an_old_greenlet_ends_too,
           no_python_frame_is_ever_lost)
