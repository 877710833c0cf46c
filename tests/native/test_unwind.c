/* Live targets, each with one right stack, which its head comment says: it is asserted for
 * equality, function by function, to the root. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/proc.h"
#include "tests/support/check_main.h"
#include "tests/support/files.h"
#include "tests/support/freeze.h"
#include "tests/support/naming.h"
#include "unwinder/unwinder.h"

enum how {
    STOPPED, /* all registers, of a thread blocked in read */
    BUSY,    /* all registers, when pc is in the first function of the stack */
    BLOCKED, /* pc and sp only */
};

struct unwind_case {
    const char *program, *source; /* in the test's directory; in tests/targets/c */
    enum how how;
    const char *argument;   /* of the program, or NULL */
    const char *symbols;    /* the unstripped twin, or NULL */
    enum frame_trust trust; /* of the least trusted frame */
    enum unwind_end end;    /* if not UNWIND_DONE, the stack is the innermost part only */
};

static const struct unwind_case cases[] = {
    {.program = "nested", .source = "nested.c", .how = STOPPED},
    {.program = "nested", .source = "nested.c", .how = BLOCKED},
    {.program = "nested_O0", .source = "nested.c", .how = STOPPED},
    {.program = "nested_O0", .source = "nested.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "nested_fp", .source = "nested.c", .how = STOPPED},
    {.program = "nested_fp", .source = "nested.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "nested_clang", .source = "nested.c", .how = STOPPED},
    {.program = "nested_clang", .source = "nested.c", .how = BLOCKED},
    {.program = "nested_clang_fp", .source = "nested.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "nested_stripped", .source = "nested.c", .how = STOPPED, .symbols = "nested"},
    {.program = "nested_static", .source = "nested.c", .how = STOPPED},
    {.program = "nested_static", .source = "nested.c", .how = BLOCKED},
    {.program = "nested_debug_frame", .source = "nested.c", .how = STOPPED},
    {.program = "nested_debug_frame", .source = "nested.c", .how = BLOCKED},
    {.program = "leaf", .source = "leaf.c", .how = BUSY},
    {.program = "leaf_O0", .source = "leaf.c", .how = BUSY},
    {.program = "leaf_fp", .source = "leaf.c", .how = BUSY},
    {.program = "leaf_clang", .source = "leaf.c", .how = BUSY},
    {.program = "sigframe", .source = "sigframe.c", .how = STOPPED},
    {.program = "sigframe", .source = "sigframe.c", .how = BLOCKED},
    {.program = "sigframe_fp", .source = "sigframe.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "sigframe", .source = "sigframe.c", .how = STOPPED, .argument = "altstack"},
    {.program = "sigframe", .source = "sigframe.c", .how = BLOCKED, .argument = "altstack"},
    {.program = "restorer", .source = "restorer.c", .how = STOPPED},
    {.program = "restorer", .source = "restorer.c", .how = BLOCKED},
    {.program = "drap", .source = "drap.c", .how = STOPPED},
    {.program = "realigned", .source = "realigned.c", .how = STOPPED},
    {.program = "drap", .source = "drap.c", .how = BLOCKED, .end = UNWIND_NEEDS_REGS},
    {.program = "realigned", .source = "realigned.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "realigned_clang", .source = "realigned.c", .how = STOPPED},
    {.program = "realigned_drap", .source = "realigned.c", .how = STOPPED},
    {.program = "realigned_drap",
     .source = "realigned.c",
     .how = BLOCKED,
     .trust = FRAME_RECOVERED},
    {.program = "threads", .source = "threads.c", .how = STOPPED},
    {.program = "threads", .source = "threads.c", .how = BLOCKED},
    {.program = "reads_clock", .source = "vdso.c", .how = BUSY},
    {.program = "deep", .source = "deep.c", .how = STOPPED},
    {.program = "deep", .source = "deep.c", .how = BLOCKED},
    {.program = "deep_fp", .source = "deep.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "tail", .source = "tail.c", .how = STOPPED},
    {.program = "tail_fp", .source = "tail.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "indirect_fp", .source = "indirect.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "indirect_fp_omit", .source = "indirect.c", .how = BLOCKED, .trust = FRAME_GUESSED},
    {.program = "noreturn", .source = "noreturn.c", .how = STOPPED},
    {.program = "nocfi", .source = "nocfi.c", .how = STOPPED, .trust = FRAME_RECOVERED},
    {.program = "nocfi", .source = "nocfi.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "nocfi_no_way_out", .source = "nocfi.c", .how = STOPPED, .trust = FRAME_RECOVERED},
    {.program = "nocfi_no_way_out_stripped",
     .source = "nocfi.c",
     .how = BLOCKED,
     .symbols = "nocfi_no_way_out",
     .trust = FRAME_RECOVERED},
    {.program = "nocfi_no_way", .source = "nocfi.c", .how = STOPPED, .trust = FRAME_GUESSED},
    {.program = "nocfi_no_way", .source = "nocfi.c", .how = BLOCKED, .trust = FRAME_GUESSED},
    {.program = "endless", .source = "endless.c", .how = STOPPED, .trust = FRAME_RECOVERED},
    {.program = "endless", .source = "endless.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "endless_fp", .source = "endless.c", .how = STOPPED, .trust = FRAME_RECOVERED},
    {.program = "endless_stripped",
     .source = "endless.c",
     .how = STOPPED,
     .symbols = "endless",
     .trust = FRAME_RECOVERED},
    {.program = "forever", .source = "forever.c", .how = STOPPED, .trust = FRAME_RECOVERED},
    {.program = "forever", .source = "forever.c", .how = BLOCKED, .trust = FRAME_RECOVERED},
    {.program = "forever_stripped",
     .source = "forever.c",
     .how = STOPPED,
     .symbols = "forever",
     .trust = FRAME_RECOVERED},
    {.program = "context", .source = "context.c", .how = STOPPED},
    {.program = "context", .source = "context.c", .how = BLOCKED},
    {.program = "nocfi_execstack", .source = "nocfi.c", .how = STOPPED, .trust = FRAME_GUESSED},
    {.program = "jit", .source = "jit.c", .how = STOPPED},
    {.program = "jit", .source = "jit.c", .how = BLOCKED},
    {.program = "throw", .source = "throw.cc", .how = STOPPED},
    {.program = "throw", .source = "throw.cc", .how = BLOCKED},
};

/* The functions after "STACK:" in the head comment of SOURCE. */
static void read_expected(const char *source, char *line, size_t len)
{
    char path[TEST_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", TARGET_SOURCES, source);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    const char *stack = NULL;
    while (!stack && fgets(line, (int)len, f))
        stack = strstr(line, "STACK:");
    (void)fclose(f);
    ck_assert_msg(stack != NULL, "no STACK: in %s", path);
    memmove(line, stack + strlen("STACK:"), strlen(stack + strlen("STACK:")) + 1);
}

struct live {
    struct target target;
    struct unwinder *unwinder;
    struct native_stack stack;
    const char *symbols;
};

static struct live live_start(const char *program, const char *argument)
{
    char path[TEST_PATH_BYTES];
    beside_binary(program, path);
    const char *const argv[] = {path, argument, NULL};
    struct live l = {.target = target_start(argv)};
    l.unwinder = unwinder_new(l.target.modules);
    l.stack.capacity = UNWIND_MAX_FRAMES;
    l.stack.frames = xcalloc(l.stack.capacity, sizeof *l.stack.frames);
    return l;
}

static void live_end(struct live *l)
{
    unwinder_free(l->unwinder);
    target_end(&l->target);
    free(l->stack.frames);
}

static uint64_t lookup_addr(const struct native_frame *f)
{
    return f->pc - f->is_call;
}

/* All that was found, for the message of a failure. */
static char *describe(const struct live *l)
{
    struct text t = {0};
    text_addf(&t, "end %d:", (int)l->stack.end);
    for (size_t i = 0; i < l->stack.n && i < 40; i++) {
        text_add(&t, " ");
        naming_add(l->target.modules, lookup_addr(&l->stack.frames[i]), l->symbols, &t);
    }
    return t.s;
}

/* libc's own names where it is part of a static program. */
static const char *name_here(const struct live *l, const char *want)
{
    const struct module *first = modules_get(l->target.modules, 0);
    bool is_static = strcmp(first->name, "nested_static") == 0;
    return is_static && strcmp(want, "[libc.so.6]") == 0 ? "__libc_start_call_main" : want;
}

static bool frame_is(const struct live *l, size_t i, const char *want)
{
    return i < l->stack.n && naming_is(l->target.modules, lookup_addr(&l->stack.frames[i]),
                                       l->symbols, name_here(l, want));
}

/* Since 2.41 glibc's read() leaves the system call to functions of its own, nameless where it is
 * stripped. */
static size_t skip_within_read(const struct live *l, const char *expected)
{
    size_t i = 0;
    if (str_starts(expected + strspn(expected, " "), "read "))
        while (!frame_is(l, i, "read") &&
               (frame_is(l, i, "[libc.so.6]") || frame_is(l, i, "__syscall_cancel_arch") ||
                frame_is(l, i, "__internal_syscall_cancel") || frame_is(l, i, "__syscall_cancel")))
            i++;
    return i;
}

/* EXPECTED: names, innermost first; NAME*N stands for N frames. */
static void assert_stack(const struct live *l, char *expected, enum unwind_end end,
                         const char *context)
{
    size_t i = skip_within_read(l, expected);
    char *save = NULL;
    for (char *word = strtok_r(expected, " \n", &save); word && strcmp(word, "*/") != 0;
         word = strtok_r(NULL, " \n", &save)) {
        char *star = strchr(word, '*');
        unsigned long times = star ? strtoul(star + 1, NULL, 10) : 1;
        if (star)
            *star = 0;
        for (; times && (i < l->stack.n || end == UNWIND_DONE); times--, i++)
            ck_assert_msg(frame_is(l, i, word), "%s: frame %zu is not %s: %s", context, i, word,
                          describe(l));
    }
    ck_assert_msg(i == l->stack.n, "%s: more than %zu frames: %s", context, i, describe(l));
    ck_assert_msg(l->stack.end == end, "%s: %s", context, describe(l));
}

/* The thread whose stack is asserted: the one started last, which the kernel lists last.  Its tid
 * is the smaller one where the tids began anew in between. */
static void keep_last(void *ctx, pid_t tid)
{
    pid_t *last = ctx;
    *last = tid;
}

static void freeze(const struct live *l, enum how how, const char *expected, struct frozen *f)
{
    char first[64];
    pid_t tid = 0;
    (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(expected + 1, " "), expected + 1);
    ck_assert_int_eq(proc_each_task(l->target.pid, keep_last, &tid), 0);
    if (how != BUSY)
        freeze_blocked(&l->target, tid, f);
    if (how == BLOCKED)
        return;
    if (how == STOPPED)
        frozen_release(f);
    freeze_stopped(&l->target, tid, f);
    while (how == BUSY &&
           !naming_is(l->target.modules, f->snapshot.regs.r[X86_PC], l->symbols, first)) {
        frozen_release(f);
        freeze_stopped(&l->target, tid, f);
    }
}

static enum frame_trust least_trust(const struct native_stack *s)
{
    enum frame_trust least = FRAME_EXACT;
    for (size_t i = 0; i < s->n; i++)
        if (s->frames[i].trust > least)
            least = s->frames[i].trust;
    return least;
}

/* Without clang its variants are missing. */
static bool is_built(const char *program)
{
    char path[TEST_PATH_BYTES];
    beside_binary(program, path);
    return !strstr(program, "_clang") || access(path, X_OK) == 0;
}

START_TEST(target_has_its_one_right_stack)
{
    const struct unwind_case *c = &cases[_i];
    if (check_skips(!is_built(c->program), "no clang built its variants"))
        return;
    char expected[512], context[128], symbols[TEST_PATH_BYTES];
    read_expected(c->source, expected, sizeof expected);
    (void)snprintf(context, sizeof context, "%s %s", c->program,
                   c->how == BLOCKED ? "blocked" : "stopped");
    struct live l = live_start(c->program, c->argument);
    struct frozen f;
    if (c->symbols) {
        beside_binary(c->symbols, symbols);
        l.symbols = symbols;
    }
    freeze(&l, c->how, expected, &f);
    unwinder_run(l.unwinder, &f.snapshot, &l.stack);
    assert_stack(&l, expected, c->end, context);
    ck_assert_msg(least_trust(&l.stack) == c->trust, "%s: trust %d", context,
                  (int)least_trust(&l.stack));
    target_assert_unharmed(&l.target);
    frozen_release(&f);
    live_end(&l);
}
END_TEST

START_TEST(cut_stack_says_how_much_is_needed)
{
    struct live l = live_start("deep", NULL);
    struct frozen f;
    freeze_blocked(&l.target, l.target.pid, &f);
    unwinder_run(l.unwinder, &f.snapshot, &l.stack);
    const uint64_t used = l.stack.stack_needed, all = f.snapshot.stack_bytes;
    const size_t frames = l.stack.n;
    ck_assert_uint_gt(used, 200000);
    ck_assert_uint_le(used, all);
    f.snapshot.mem = NULL;
    f.snapshot.stack_cut = true;
    f.snapshot.stack_bytes = 4096;
    for (l.stack.end = UNWIND_STACK_CUT; l.stack.end == UNWIND_STACK_CUT;) {
        unwinder_run(l.unwinder, &f.snapshot, &l.stack);
        if (l.stack.end == UNWIND_STACK_CUT)
            ck_assert_uint_gt(l.stack.stack_needed, f.snapshot.stack_bytes);
        f.snapshot.stack_bytes = l.stack.stack_needed;
    }
    ck_assert_int_eq(l.stack.end, UNWIND_DONE);
    ck_assert_uint_eq(l.stack.n, frames);
    frozen_release(&f);
    live_end(&l);
}
END_TEST

/* TID, stopped, has the stack EXPECTED, also if no more than pc and sp are known of it. */
static void assert_tracee_stack(struct live *l, pid_t tid, const char *expected)
{
    static const uint32_t known[] = {(1U << X86_COUNT) - 1, 1U << X86_PC | 1U << X86_RSP};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char names[512];
        struct frozen f;
        freeze_tracee(&l->target, tid, &f);
        f.snapshot.regs.known = known[i];
        unwinder_run(l->unwinder, &f.snapshot, &l->stack);
        (void)snprintf(names, sizeof names, "%s", expected);
        assert_stack(l, names, UNWIND_DONE, i ? "pc and sp" : "all registers");
        ck_assert_int_eq(least_trust(&l->stack), FRAME_EXACT);
        frozen_release(&f);
    }
}

/* The name of what was put there, not of what lies before it. */
START_TEST(a_stack_begins_where_it_was_made)
{
    struct live l = live_start("context", NULL);
    struct frozen f;
    freeze_blocked(&l.target, l.target.pid, &f);
    unwinder_run(l.unwinder, &f.snapshot, &l.stack);
    ck_assert_int_eq(l.stack.end, UNWIND_DONE);
    ck_assert(!l.stack.frames[l.stack.n - 1].is_call);
    frozen_release(&f);
    live_end(&l);
}
END_TEST

START_TEST(clone_returns_twice)
{
    char expected[512];
    struct live l = live_start("clone", NULL);
    read_expected("clone.c", expected, sizeof expected);
    tracee_seize(l.target.pid);
    target_go_on(&l.target);
    pid_t child = tracee_wait_for_clone(l.target.pid);
    assert_tracee_stack(&l, child, "clone");
    assert_tracee_stack(&l, l.target.pid, expected);
    tracee_detach(child);
    tracee_detach(l.target.pid);
    target_assert_unharmed(&l.target);
    live_end(&l);
}
END_TEST

START_TEST(without_the_interrupted_stack_its_first_function_is_last)
{
    char expected[] = "read handler [libc.so.6] faults";
    struct live l = live_start("sigframe", "altstack");
    struct frozen f;
    freeze_blocked(&l.target, l.target.pid, &f);
    f.snapshot.mem = NULL;
    unwinder_run(l.unwinder, &f.snapshot, &l.stack);
    assert_stack(&l, expected, UNWIND_BAD_MEMORY, "altstack alone");
    ck_assert_uint_eq(unwinder_counters(l.unwinder)->other_stack, 1);
    frozen_release(&f);
    live_end(&l);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unwind");
    TCase *tcase = tcase_create("live");
    tcase_set_timeout(tcase, 20);
    tcase_add_loop_test(tcase, target_has_its_one_right_stack, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tcase, a_stack_begins_where_it_was_made);
    tcase_add_test(tcase, clone_returns_twice);
    tcase_add_test(tcase, cut_stack_says_how_much_is_needed);
    tcase_add_test(tcase, without_the_interrupted_stack_its_first_function_is_last);
    suite_add_tcase(suite, tcase);
    return check_end(suite);
}
