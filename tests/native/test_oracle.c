/* Single-steps programs through thousands of instructions and compares the whole stack at each with
 * what libunwind finds in the stopped process: prologues, epilogues, PLT stubs, lazy binding,
 * signal delivery, exceptions. */
#include <check.h>
#include <libunwind-ptrace.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/files.h"
#include "tests/support/freeze.h"
#include "tests/support/naming.h"
#include "unwinder/unwinder.h"

enum { MAX_FRAMES = 64 };

struct oracle {
    unw_addr_space_t space;
    uint64_t pcs[MAX_FRAMES];
    size_t n;
};

static void ask_oracle(struct oracle *o, pid_t tid)
{
    void *upt = _UPT_create(tid);
    unw_cursor_t cursor;
    o->n = 0;
    ck_assert_int_eq(unw_init_remote(&cursor, o->space, upt), 0);
    do {
        unw_word_t pc;
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        if (pc == 0)
            break;
        o->pcs[o->n++] = pc;
    } while (o->n < MAX_FRAMES && unw_step(&cursor) > 0);
    _UPT_destroy(upt);
}

static bool same(const struct oracle *o, const struct native_stack *s)
{
    if (s->n != o->n)
        return false;
    for (size_t i = 0; i < o->n; i++)
        if (s->frames[i].pc != o->pcs[i])
            return false;
    return true;
}

static void describe(struct text *t, struct modules *modules, const struct oracle *o,
                     const struct native_stack *s)
{
    text_addf(t, "end %d:", (int)s->end);
    for (size_t i = 0; i < s->n; i++) {
        text_add(t, " ");
        naming_add(modules, s->frames[i].pc - s->frames[i].is_call, NULL, t);
    }
    text_add(t, "\n  oracle:");
    for (size_t i = 0; i < o->n; i++) {
        text_add(t, " ");
        naming_add(modules, o->pcs[i] - (i > 0), NULL, t);
    }
}

/* Why the two may differ, at the expense of libunwind or of nobody. */
enum difference {
    SAME,
    NO_CFI,    /* start-up code without CFI: libunwind ends there, we guess, and say so */
    IN_VDSO,   /* libunwind-ptrace has no CFI for the vdso */
    EH_RETURN, /* the last instructions of _Unwind_Resume replace the stack: no CFI can say how */
    WRONG_CFI, /* gcc 12 says that rbp is still saved after a realigned function has popped it: both
                  go astray at the function's last two instructions */
    UNEXPLAINED,
    DIFFERENCES
};

static bool is_in(const struct target *t, const struct native_stack *s, size_t i, const char *name)
{
    return i < s->n && naming_is(t->modules, s->frames[i].pc - s->frames[i].is_call, NULL, name);
}

static enum difference difference(const struct target *t, const struct oracle *o,
                                  const struct native_stack *s)
{
    bool exact = s->end == UNWIND_DONE, no_cfi = false;
    for (size_t i = 0; i < s->n; i++) {
        exact &= s->frames[i].trust == FRAME_EXACT;
        no_cfi |= s->frames[i].function == 0;
    }
    if (exact && same(o, s))
        return SAME;
    if (is_in(t, s, 0, "_Unwind_Resume") || is_in(t, s, 1, "_Unwind_Resume"))
        return EH_RETURN;
    if (is_in(t, s, 0, "[vdso]") && is_in(t, s, s->n - 1, "_start") && exact)
        return IN_VDSO;
    if (!no_cfi && same(o, s) && is_in(t, s, 0, "realigned"))
        return WRONG_CFI;
    return no_cfi && is_in(t, s, s->n - 1, "_start") ? NO_CFI : UNEXPLAINED;
}

struct step_case {
    const char *program;
    int steps;
};
static const struct step_case cases[] = {
    {"plt", 3000}, {"steps", 16000}, {"steps_fp", 12000}, {"throw", 8000}, {"realigned_drap", 500},
};

START_TEST(every_instruction_agrees)
{
    const struct step_case *c = &cases[_i];
    char path[TEST_PATH_BYTES];
    beside_binary(c->program, path);
    const char *const argv[] = {path, NULL};
    struct target t = target_start(argv);
    struct unwinder *u = unwinder_new(t.modules);
    struct native_stack s = {.frames = xcalloc(MAX_FRAMES, sizeof *s.frames),
                             .capacity = MAX_FRAMES};
    struct oracle o = {.space = unw_create_addr_space(&_UPT_accessors, 0)};
    unw_set_caching_policy(o.space, UNW_CACHE_GLOBAL);
    int counts[DIFFERENCES] = {0};
    struct text first = {0};
    tracee_seize(t.pid);
    target_go_on(&t);
    for (int i = 0; i < c->steps && tracee_step(t.pid); i++) {
        struct frozen f;
        freeze_tracee(&t, t.pid, &f);
        if (unwinder_wants_maps(u))
            unwinder_maps_changed(u);
        unwinder_run(u, &f.snapshot, &s);
        frozen_release(&f);
        ask_oracle(&o, t.pid);
        enum difference d = difference(&t, &o, &s);
        if (counts[d]++ < 3 && d == UNEXPLAINED) {
            text_addf(&first, "\n%s step %d ", c->program, i);
            describe(&first, t.modules, &o, &s);
        }
    }
    printf("# %s: same %d, no CFI %d, vdso %d, eh_return %d, wrong CFI %d, unexplained %d\n",
           c->program, counts[SAME], counts[NO_CFI], counts[IN_VDSO], counts[EH_RETURN],
           counts[WRONG_CFI], counts[UNEXPLAINED]);
    ck_assert_msg(counts[UNEXPLAINED] == 0, "%d differ:%s", counts[UNEXPLAINED], first.s);
    ck_assert_int_gt(counts[SAME], 100);
    ck_assert_int_lt(counts[NO_CFI], 100);
    ck_assert_int_lt(counts[EH_RETURN], 100);
    ck_assert_int_le(counts[WRONG_CFI], 2);
    unw_destroy_addr_space(o.space);
    unwinder_free(u);
    free(s.frames);
    text_release(&first);
    target_end(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oracle");
    TCase *tcase = tcase_create("steps");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, every_instruction_agrees, 0, (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, tcase);
    return check_end(suite);
}
