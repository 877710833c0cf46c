/* The merge where one of both stacks has what the other lacks. */
#include <string.h>
#include <sys/syscall.h>

#include "tests/support/check_main.h"
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
    {"blocked, the frame is elsewhere", "xceccx", "v", "xceccxA", PY_MERGE_MISMATCH, SYS_read, 1,
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
        stage_open(&s);
        set_native(&s, "e");
        set_python(&s, "0");
        merged(&s);
        set_native(&s, c->native);
        set_python(&s, c->python);
        s.syscall = c->syscall;
        s.py.n_states = c->states;
        s.py.end = c->walk_end;
        const char *got = merged(&s);
        ck_assert_msg(!strcmp(got, c->want) && s.out.result == c->result, "%s: %s, result %d",
                      c->what, got, (int)s.out.result);
        stage_close(&s);
    }
}
END_TEST

CHECK_MAIN("py_merge_lost", 20, eval_frames_whose_python_was_not_read)
