#include "summary/brief_stack.h"

#include <string.h>

#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

/* Stacks outermost first, what is left of them innermost first. */
static const struct {
    const char *stack, *left;
    size_t hidden;
} cases[] = {
    /* The user's own, and the call that it makes. */
    {"_start!app > __libc_start_main!libc.so.6 > main!app > refresh!app > "
     "std::lock_guard<std::mutex>::lock_guard!app > std::mutex::lock!app > "
     "__gthread_mutex_lock!app > pthread_mutex_lock!libc.so.6 > futex [blocked]",
     "(std::mutex::lock) refresh main", 5},
    {"start_thread!libc.so.6 > std::thread::_State_impl<A>::_M_run!app > job!app > "
     "read!libc.so.6 > read pipe [blocked]",
     "job", 3},
    /* Who runs is told by the function of libc that it is in. */
    {"main!app > work!app > memcpy!libc.so.6", "(memcpy) work main", 0},
    {"main!app > free!libc.so.6 > _int_free!libc.so.6", "(free) main", 1},
    /* Python's own library leads to the user's code, or is what that calls. */
    {"_start!python3 > <module>@/src/a.py:1:30 > collect@/src/a.py:5:9 > "
     "get@/usr/lib/python3.11/queue.py:150:171 > wait@/usr/lib/python3.11/threading.py:288:320 > "
     "lock_acquire!libpython3.11.so > sem_wait!libc.so.6 > futex [blocked]",
     "get collect <module>", 4},
    {"_bootstrap@/usr/lib/python3.11/threading.py:1:2 > run@/usr/lib/python3.11/threading.py:3:4 > "
     "work@/src/a.py:5:9 > clock_nanosleep!libc.so.6 > clock_nanosleep [blocked]",
     "work", 3},
    /* Recursion from one line. */
    {"main!app > f!app|/a.c:7 > f!app|/a.c:7 > f!app|/a.c:7 > pause [blocked]", "f*3 main", 0},
    /* Functions without names are one line. */
    {"main!app > go!libgpu.so > 0x7f0010!libgpu.so > 0x7f0020!libgpu.so > work!app > "
     "0x7f0030!libgpu.so",
     "libgpu.so+0x7f0030 work libgpu.so+0x7f0020*2 go main", 0},
    /* Of a library's many frames the last two, and the one that was called. */
    {"main!app > a!/usr/lib/libt.so > b!/usr/lib/libt.so > c!/usr/lib/libt.so > "
     "d!/usr/lib/libt.so > e!/usr/lib/libt.so > mine!app",
     "mine e d a main", 2},
    {"main!app > a!/usr/lib/libt.so > b!/usr/lib/libt.so > c!/usr/lib/libt.so > mine!app",
     "mine c b a main", 0},
    /* Something is left. */
    {"start_thread!libc.so.6 > futex_wait!libc.so.6 > futex [blocked]", "futex_wait", 1},
    {"clone3!libc.so.6", "clone3", 0},
    {"0x7f0010 > [truncated]", "[truncated] 0x7f0010", 0},
    {"futex [blocked]", "", 0},
};

static void add(struct text *out, const struct shown_frame *stack, const struct brief_frame *f)
{
    text_addf(out, "%s%s%s%s", out->len ? " " : "", f->call ? "(" : "", stack[f->at].name,
              f->call ? ")" : "");
    if (f->repeats > 1)
        text_addf(out, "*%zu", f->repeats);
    if (f->skipped)
        text_addf(out, "+%zu", f->skipped);
}

static size_t render(const char *text, struct text *out)
{
    struct profile_builder b = builder_start(1, "app");
    size_t n = 0;
    size_t hidden = 0;
    struct spot s = builder_spot(&b, text);
    struct view *v = view_new(b.p, &(struct view_options){.whole = true});
    const struct shown_frame *stack = view_stack(v, s, &n);
    bool blocked = n && stack[n - 1].kind == SHOWN_WAIT;
    struct brief_stack brief;
    brief_stack_of(stack, n, blocked, &brief);
    text_add(out, "");
    for (size_t i = 0; i < brief.n; i++)
        add(out, stack, &brief.frames[i]);
    for (unsigned i = 0; i < BRIEF_KINDS; i++)
        hidden += brief.hidden[i];
    view_free(v);
    profile_free(b.p);
    return hidden;
}

START_TEST(own_code_and_what_it_calls_are_left)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text out = {0};
        size_t hidden = render(cases[i].stack, &out);
        ck_assert_msg(str_eq(out.s, cases[i].left), "%s: %s", cases[i].stack, out.s);
        ck_assert_msg(hidden == cases[i].hidden, "%s: %zu", cases[i].stack, hidden);
        text_release(&out);
    }
}
END_TEST

START_TEST(long_stacks_lose_their_middle)
{
    struct text stack = {0};
    struct text out = {0};
    for (int i = 0; i < 100; i++)
        text_addf(&stack, "%sf%d!app", i ? " > " : "", i);
    ck_assert_uint_eq(render(stack.s, &out), 0);
    ck_assert_msg(str_starts(out.s, "f99 f98 "), "%s", out.s);
    ck_assert_ptr_nonnull(strstr(out.s, " f82 f5+76 f4 "));
    ck_assert_msg(str_ends(out.s, " f1 f0"), "%s", out.s);
    text_release(&stack);
    text_release(&out);
}
END_TEST

CHECK_MAIN("brief_stack", 20, own_code_and_what_it_calls_are_left, long_stacks_lose_their_middle)
