/* The merge of two stacks, one of which lacks frames that the other has. */
#include <string.h>
#include <sys/syscall.h>

#include "tests/support/check_main.h"
#include "tests/support/mem_image.h"
#include "tests/support/merge_stage.h"

struct lost_case {
    const char *what, *native, *python, *want;
    enum py_merge_result result;
    int64_t syscall;
    size_t states;
    enum py_walk_end walk_end;
};

static const struct lost_case lost_cases[] = {
    {"blocked in the top activation", "xcecex", "4", "xc?cAx", PY_MERGE_MISMATCH, SYS_read, 1, 0},
    {"entering, malloc() in it", "xcecex", "4", "xccAx", PY_MERGE_ENTERING, SYS_mmap, 1, 0},
    {"entering, a signal's handler blocks", "xsecex", "4", "xscAx", PY_MERGE_ENTERING, SYS_read, 1,
     0},
    {"blocked, the newest left out", "xcecex", "4", "xccAx", PY_MERGE_ENTERING, SYS_read, 1,
     PY_WALK_TORN},
    {"blocked, the frame is elsewhere", "xceccx", "v", "xceccx!A", PY_MERGE_MISMATCH, SYS_read, 1,
     0},
    {"no state, first activation", "xcex", "", "xcex", PY_MERGE_NO_PYTHON, -1, 0, 0},
    {"no state, blocked", "xcex", "", "xc?x", PY_MERGE_MISMATCH, SYS_read, 0, 0},
    {"no state, two", "xecex", "", "x?c?x", PY_MERGE_MISMATCH, -2, 0, 0},
    {"no state, no Python", "xccx", "", "xccx", PY_MERGE_NO_PYTHON, SYS_read, 0, 0},
    {"a greenlet that runs C", "xcececx", "", "xcececx", PY_MERGE_NO_PYTHON, SYS_read, 1, 0},
    {"nothing was being walked, two", "ecex", "", "?c?x", PY_MERGE_MISMATCH, -2, 1, PY_WALK_TORN},
};

START_TEST(eval_frames_whose_python_was_not_read)
{
    for (size_t i = 0; i < sizeof lost_cases / sizeof *lost_cases; i++) {
        const struct lost_case *c = &lost_cases[i];
        struct stage s;
        stage_open_taught(&s);
        set_native(&s, c->native);
        set_python(&s, c->python);
        s.syscall = c->syscall;
        s.py.n_states = c->states;
        s.py.end = c->walk_end;
        assert_merged(&s, c->what, c->want, c->result);
        stage_close(&s);
    }
}
END_TEST

/* ---- frames that another thread runs ---- */

/* The first FRAMES frames are of the first thread state, the others of a second one. */
static void split_states(struct stage *s, size_t frames)
{
    s->py.n_states = 2;
    s->py.state_ends[0] = frames;
    s->py.state_ends[1] = s->py.n;
}

static void open_with(struct stage *s, const char *native, const char *python, size_t frames)
{
    stage_open(s);
    set_native(s, "e");
    set_python(s, "0");
    merged(s);
    set_native(s, native);
    set_python(s, python);
    split_states(s, frames);
}

static void check(struct stage *s, const char *want, enum py_merge_result result,
                  uint32_t elsewhere)
{
    ck_assert_str_eq(merged(s), want);
    ck_assert_int_eq(s->out.result, result);
    ck_assert_uint_eq(s->out.elsewhere, elsewhere);
}

START_TEST(a_state_is_not_shown_where_it_does_not_run)
{
    struct stage s;
    open_with(&s, "xcecx", "2^^", 1);
    check(&s, "xcAcx", PY_MERGE_EXACT, 2);
    set_python(&s, "vv2");
    split_states(&s, 2);
    check(&s, "xcCcx", PY_MERGE_EXACT, 1);
    set_python(&s, "2^^");
    split_states(&s, 1);
    s.native.end = UNWIND_NO_CFI; /* there may be more */
    check(&s, "xcAcx~BC", PY_MERGE_NATIVE_CUT, 0);
    s.native.end = UNWIND_DONE;
    s.native_frames[3].after_gap = true;
    check(&s, "xcA~cxBC", PY_MERGE_MISMATCH, 0);
    stage_close(&s);
    open_with(&s, "xcecx", "21",
              1); /* on this stack, but in no C frame that can be the eval loop */
    s.native_frames[1].pc = FOREIGN;
    check(&s, "xc!BAcx", PY_MERGE_MISMATCH, 0);
    stage_close(&s);
}
END_TEST

/* All thread states run elsewhere: that is believed only if the C stack ends at the thread's root.
 */
START_TEST(a_dead_threads_state_is_not_shown)
{
    enum { STATE = 0x800000 };
    struct stage s;
    open_with(&s, "xccx", "^^", 2);
    s.py.n_states = 1;
    check(&s, "xccx!AB", PY_MERGE_MISMATCH, 0);
    uint64_t thread_id = STACK + 4 * FRAME_BYTES + 0x200;
    ck_assert_int_eq(mem_image_add(s.mem, STATE, &thread_id, sizeof thread_id), 0);
    s.py.states[0] = STATE;
    check(&s, "xccx", PY_MERGE_NO_PYTHON, 1);
    set_native(&s, "xcecx");
    set_python(&s, "^^"); /* it runs Python all the same */
    s.syscall = SYS_read;
    check(&s, "xc?cx", PY_MERGE_MISMATCH, 1);
    stage_close(&s);
}
END_TEST

/* Without markers: no C frame holds a pointer to the frames, and fewer activations are without one.
 */
START_TEST(an_old_state_is_not_shown_where_it_does_not_run)
{
    struct stage s;
    open_with(&s, "xcecx", "200", 1);
    without_markers(&s);
    hold(&s, 2, 0, X86_RBX);
    check(&s, "xcAcx", PY_MERGE_EXACT, 2);
    hold(&s, 1, 1, X86_RBX);
    check(&s, "xcAcx!BC", PY_MERGE_MISMATCH, 0);
    set_native(&s, "xececex");
    hold(&s, 5, 0, X86_RBX);
    check(&s, "x?c?cAx!BC", PY_MERGE_MISMATCH, 0);
    stage_close(&s);
}
END_TEST

CHECK_MAIN("py_merge_lost", 20, eval_frames_whose_python_was_not_read,
           a_state_is_not_shown_where_it_does_not_run, a_dead_threads_state_is_not_shown,
           an_old_state_is_not_shown_where_it_does_not_run)
