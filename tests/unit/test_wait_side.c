#include "summary/wait_side.h"
#include "summary/wait_text.h"

#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

/* What a futex(2) may be told to be for, by the functions that wait in it. */
static const struct {
    enum wait_thing thing; /* as the bytes say */
    bool told;
    const char *stack;
} cases[] = {
    {THING_MUTEX, true, "f!app > pthread_mutex_lock!libc.so.6"},
    {THING_MUTEX, true, "f!app > ___pthread_mutex_lock!libc.so.6 > __lll_lock_wait!libc.so.6"},
    {THING_MUTEX, true, "f!app > pthread_mutex_timedlock!libpthread-2.31.so"},
    {THING_MUTEX, true, "f!app > mtx_lock!libc.so.6 > __pthread_mutex_lock!libc.so.6"},
    {THING_MUTEX, true, "f!app > __pthread_mutex_lock!app > __lll_lock_wait!app"}, /* static */
    {THING_MUTEX, true,
     "f!app > pthread_cond_wait!libc.so.6 > __pthread_mutex_cond_lock!libc.so.6"},
    {THING_MUTEX, false, "f!app > pthread_cond_wait!libc.so.6 > __lll_lock_wait!libc.so.6"},
    {THING_MUTEX, false, "f!app > pthread_cond_signal!libc.so.6"},
    {THING_MUTEX, false, "f!app > malloc!libc.so.6 > __lll_lock_wait_private!libc.so.6"},
    {THING_MUTEX, false, "f!app > sem_wait!libc.so.6"},
    {THING_MUTEX, false, "f!app > pthread_mutex_lock?!libc.so.6"}, /* a guess */
    {THING_MUTEX, false, "pthread_mutex_lock!libc.so.6 > f!app > syscall!libc.so.6"},
    {THING_RWLOCK, true, "f!app > __pthread_rwlock_rdlock!libc.so.6"},
    {THING_RWLOCK, false, "f!app > pthread_mutex_lock!libc.so.6"},
    {THING_THREAD, true, "std::thread::join!libstdc++.so.6 > __pthread_clockjoin_ex!libc.so.6"},
    {THING_THREAD, true, "f!app > thrd_join!libc.so.6"},
    {THING_THREAD, false, "f!app > pthread_cond_timedwait!libc.so.6"},
    {THING_THREAD, true, "f!app > 0x91450!libc.so.6"}, /* without debug symbols */
    {THING_THREAD, false, "f!app > 0x91450!app"},
    {THING_MUTEX, false, "f!app > 0x91450!libc.so.6"},
    {THING_THREAD, false, "f!app > syscall!libc.so.6"},
    {THING_THREAD, true,
     "f@/a.py:1:2 > join@/lib/threading.py:3:4 > "
     "_wait_for_tstate_lock@/lib/threading.py:5:6 > lock_acquire!python > sem_wait!libc.so.6"},
    {THING_THREAD, true, "Thread._wait_for_tstate_lock@/lib/threading.py:5:6"},
    {THING_THREAD, true, "Thread.join@/lib/threading.py:5:6 > sem_wait!libc.so.6"},
    {THING_THREAD, false, "Thread.join@/lib/threading.py:5:6 > g@/a.py:1:2 > sem_wait!libc.so.6"},
    {THING_THREAD, false, "Thread.join@/a/other.py:5:6 > sem_wait!libc.so.6"},
    {THING_MUTEX, false, "Thread.join@/lib/threading.py:5:6 > sem_wait!libc.so.6"},
};

START_TEST(functions_and_bytes_have_to_agree)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile_builder b = builder_start(1, "app");
        struct wait wait = {.kind = WAIT_CALL, .call = profile_string(b.p, "futex")};
        wait.side = (struct wait_side){
            .thing = cases[i].thing, .holder = HOLDER_THREAD, .pid = 1, .tid = 2, .timed = true};
        struct spot s = {builder_stack(&b, cases[i].stack), profile_wait(b.p, &wait)};
        struct view *v = view_new(b.p, &(struct view_options){0});
        struct wait_side side = wait_side_of(b.p, v, s);
        ck_assert_msg((side.holder == HOLDER_THREAD) == cases[i].told, "%s", cases[i].stack);
        ck_assert_int_eq(side.tid, cases[i].told ? 2 : 0);
        ck_assert(side.timed);
        view_free(v);
        profile_free(b.p);
    }
}
END_TEST

/* Waits that look alike but for the holder are one place to a reader. */
START_TEST(holders_are_data_and_no_names)
{
    struct profile_builder b = builder_start(1, "app");
    struct wait wait = {.kind = WAIT_CALL, .call = profile_string(b.p, "futex")};
    stack_id f = builder_stack(&b, "f!app > pthread_mutex_lock!libc.so.6");
    struct spot plain = {f, profile_wait(b.p, &wait)};
    wait.side = (struct wait_side){.thing = THING_MUTEX, .holder = HOLDER_THREAD, .tid = 2};
    struct spot held = {f, profile_wait(b.p, &wait)};
    ck_assert_uint_eq(held.wait.ix, profile_wait(b.p, &wait).ix);
    wait.side.addr = 4096;
    struct spot other = {f, profile_wait(b.p, &wait)};
    ck_assert(plain.wait.ix != held.wait.ix && held.wait.ix != other.wait.ix);
    struct view *v = view_new(b.p, &(struct view_options){0});
    size_t n = 0;
    uint32_t id = view_stack(v, plain, &n)[2].id;
    ck_assert_uint_eq(view_stack(v, held, &n)[2].id, id);
    ck_assert_uint_eq(view_stack(v, other, &n)[2].id, id);
    view_free(v);
    profile_free(b.p);
}
END_TEST

static const struct {
    struct wait_side side;
    const char *what, *words;
} sides[] = {
    {{.thing = THING_CHILD, .holder = HOLDER_PROCESS, .pid = 7}, "sleep", "its child 7 (sleep)"},
    {{.thing = THING_CHILD, .holder = HOLDER_PROCESS, .pid = 7},
     "sh, which is stopped",
     "its child 7 (sh), which is stopped"},
    {{.thing = THING_CHILD, .holder = HOLDER_PROCESS, .pid = 7}, "a,b", "its child 7 (a,b)"},
    {{.thing = THING_CHILD, .holder = HOLDER_PROCESS, .pid = 7},
     "a, which, which has ended",
     "its child 7 (a, which), which has ended"},
    {{.thing = THING_CHILD}, "3 children", "any of its 3 children"},
    {{.thing = THING_CHILD}, NULL, "a child"},
    {{.thing = THING_PIPE, .holder = HOLDER_PROCESS, .pid = 7},
     "less",
     "7 (less), which has the pipe's other end"},
    {{.thing = THING_PIPE, .holder = HOLDER_PROCESS, .pid = 7},
     "a,b: 2",
     "7 (a,b: 2), which has the pipe's other end"},
    {{.thing = THING_PIPE, .holder = HOLDER_PROCESS, .pid = 1},
     "app",
     "a pipe whose other end only this process has"},
    {{.thing = THING_PIPE}, "2 processes", "a pipe whose other end 2 processes have"},
    {{.thing = THING_PIPE},
     "2 processes: 7 (sh), 8 (a: b)",
     "a pipe whose other end 2 processes have: 7 (sh), 8 (a: b)"},
    {{.thing = THING_PIPE}, NULL, "a pipe"},
    {{.thing = THING_SOCKET}, "10.0.0.7:80", "10.0.0.7:80"},
    {{.thing = THING_SOCKET}, NULL, "a socket"},
    {{.thing = THING_SOCKET, .holder = HOLDER_PROCESS, .pid = 7},
     "db",
     "7 (db), which has the socket's other end"},
    {{.thing = THING_FILE_LOCK, .holder = HOLDER_PROCESS, .pid = 7},
     "apt",
     "a file's lock, held by 7 (apt)"},
    {{.thing = THING_FILE_LOCK}, "2 processes", "a file's lock, which 2 processes share"},
    {{.thing = THING_FILE_LOCK},
     "2 processes: 7 (flock), 8 (sleep)",
     "a file's lock, which 2 processes share: 7 (flock), 8 (sleep)"},
    {{.thing = THING_FILE_LOCK}, NULL, "a file's lock"},
    {{.thing = THING_SOCKET},
     "2 processes: 7 (a), 8 (b)",
     "a socket whose other end 2 processes have: 7 (a), 8 (b)"},
    {{.thing = THING_EVENTS}, "a timer", "a timer"},
    {{.thing = THING_EVENTS}, "listening on 0.0.0.0:80", "new connections to 0.0.0.0:80"},
    {{.thing = THING_MUTEX}, NULL, ""},
};

/* What the kernel told needs no functions, and has words. */
START_TEST(sides_in_the_kernel_have_words)
{
    struct profile_builder b = builder_start(1, "app");
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct text text = {0};
        struct wait wait = {
            .kind = WAIT_CALL, .call = profile_string(b.p, "f"), .side = sides[i].side};
        if (sides[i].what)
            wait.side.what = profile_string(b.p, sides[i].what);
        struct spot s = {builder_stack(&b, "f!app"), profile_wait(b.p, &wait)};
        struct view *v = view_new(b.p, &(struct view_options){0});
        struct wait_side side = wait_side_of(b.p, v, s);
        view_free(v);
        ck_assert(side.thing == THING_UNKNOWN || wait_side_is_kernels(side.thing));
        text_add(&text, "");
        wait_side_add_text(&text, b.p, &side, 1);
        ck_assert_str_eq(text.s, sides[i].words);
        text_release(&text);
    }
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("wait_side", 20, sides_in_the_kernel_have_words, functions_and_bytes_have_to_agree,
           holders_are_data_and_no_names)
