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
        wait.side = (struct wait_side){.thing = cases[i].thing,
                                       .blocker = {.kind = BLOCKER_THREAD, .pid = 1, .tid = 2},
                                       .timed = true};
        struct spot s = {builder_stack(&b, cases[i].stack), profile_wait(b.p, &wait)};
        struct view *v = view_new(b.p, &(struct view_options){0});
        struct wait_side side = wait_side_of(b.p, v, s);
        ck_assert_msg((side.blocker.kind == BLOCKER_THREAD) == cases[i].told, "%s", cases[i].stack);
        ck_assert_int_eq(side.blocker.tid, cases[i].told ? 2 : 0);
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
    wait.side =
        (struct wait_side){.thing = THING_MUTEX, .blocker = {.kind = BLOCKER_THREAD, .tid = 2}};
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
    const char *name, *host; /* of its blocker; NULL: none */
    const char *listed[2];
    bool detailed;
    const char *words;
} sides[] = {
    {.side = {THING_CHILD, .blocker = {.kind = BLOCKER_PROCESS, .pid = 7}},
     .name = "sleep",
     .words = "its child 7 (sleep)"},
    {.side = {THING_CHILD, .blocker = {.kind = BLOCKER_PROCESS, .pid = 7, .fate = FATE_STOPPED}},
     .name = "sh",
     .words = "its child 7 (sh), which is stopped"},
    {.side = {THING_CHILD, .blocker = {.kind = BLOCKER_PROCESS, .pid = 7}},
     .name = "a, which has ended",
     .words = "its child 7 (a, which has ended)"},
    {.side = {THING_CHILD, .blocker = {.kind = BLOCKER_PROCESS, .pid = 7, .fate = FATE_ENDED}},
     .name = "a, which",
     .words = "its child 7 (a, which), which has ended"},
    {.side = {THING_CHILD, .blocker = {.kind = BLOCKER_CHILDREN, .n = 3}},
     .words = "any of its 3 children"},
    {.side = {THING_CHILD}, .words = "a child"},
    {.side = {THING_PIPE, .blocker = {.kind = BLOCKER_PROCESS, .pid = 7}},
     .name = "a,b: 2",
     .words = "7 (a,b: 2), which has the pipe's other end"},
    {.side = {THING_PIPE, .blocker = {.kind = BLOCKER_PROCESS, .pid = 7, .fate = FATE_STOPPED}},
     .name = "less",
     .words = "7 (less), which has the pipe's other end and is stopped"},
    {.side = {THING_PIPE, .blocker = {.kind = BLOCKER_PROCESS, .pid = 1}},
     .name = "app",
     .words = "a pipe whose other end is in the same process"},
    {.side = {THING_PIPE, .blocker = {.kind = BLOCKER_SEVERAL, .n = 2}},
     .listed = {"sh", "a: b"},
     .words = "a pipe whose other end 2 processes have"},
    {.side = {THING_PIPE, .blocker = {.kind = BLOCKER_SEVERAL, .n = 2}},
     .listed = {"sh", "a: b"},
     .detailed = true,
     .words = "a pipe whose other end 2 processes have: 7 (sh), 8 (a: b)"},
    {.side = {THING_PIPE}, .words = "a pipe"},
    {.side = {THING_SOCKET, .blocker = {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 80}},
     .host = "10.0.0.7",
     .words = "10.0.0.7:80"},
    {.side = {THING_SOCKET, .blocker = {.kind = BLOCKER_CLIENT, .net = NET_TCP, .local_port = 80}},
     .host = "10.0.0.7",
     .words = "a client of :80"},
    {.side = {THING_SOCKET,
              .blocker = {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 80, .pid = 7}},
     .name = "db",
     .host = "127.0.0.1",
     .words = "7 (db), which has the socket's other end"},
    {.side = {THING_SOCKET, .blocker = {.kind = BLOCKER_PEER,
                                        .net = NET_TCP,
                                        .port = 80,
                                        .pid = 7,
                                        .queue = QUEUE_NOTHING_RECEIVED}},
     .name = "db",
     .host = "127.0.0.1",
     .detailed = true,
     .words = "127.0.0.1:80 of 7 (db), nothing received"},
    {.side = {THING_SOCKET}, .words = "a socket"},
    {.side = {THING_SOCKET, .blocker = {.kind = BLOCKER_PROCESS, .pid = 7, .net = NET_UNIX}},
     .name = "db",
     .words = "7 (db), which has the socket's other end"},
    {.side = {THING_SOCKET, .blocker = {.kind = BLOCKER_SEVERAL, .n = 9}},
     .listed = {"a", "b"},
     .detailed = true,
     .words = "a socket whose other end 9 processes have: 7 (a), 8 (b), …"},
    {.side = {THING_FILE_LOCK, .blocker = {.kind = BLOCKER_PROCESS, .pid = 7}},
     .name = "apt",
     .words = "a file's lock, held by 7 (apt)"},
    {.side = {THING_FILE_LOCK, .blocker = {.kind = BLOCKER_SEVERAL, .n = 2}},
     .listed = {"flock", "sleep"},
     .detailed = true,
     .words = "a file's lock, which 2 processes share: 7 (flock), 8 (sleep)"},
    {.side = {THING_FILE_LOCK}, .words = "a file's lock"},
    {.side = {THING_MUTEX}, .words = ""},
};

static struct wait wait_of(struct profile *p, size_t i)
{
    struct wait wait = {.kind = WAIT_CALL, .call = profile_string(p, "f"), .side = sides[i].side};
    struct blocker *b = &wait.side.blocker;
    b->name = sides[i].name ? profile_string(p, sides[i].name) : (string_id){0};
    b->host = sides[i].host ? profile_string(p, sides[i].host) : (string_id){0};
    for (size_t k = 2; k-- > 0;) {
        struct blocker one = {.kind = BLOCKER_PROCESS, .pid = (pid_t)(7 + k)};
        if (!sides[i].listed[k])
            continue;
        one.name = profile_string(p, sides[i].listed[k]);
        wait.side.list = profile_list_blocker(p, &one, wait.side.list);
    }
    return wait;
}

/* What the kernel told needs no functions, and has words. */
START_TEST(sides_in_the_kernel_have_words)
{
    struct profile_builder b = builder_start(1, "app");
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct text text = {0};
        struct wait wait = wait_of(b.p, i);
        struct spot s = {builder_stack(&b, "f!app"), profile_wait(b.p, &wait)};
        struct view *v = view_new(b.p, &(struct view_options){0});
        struct wait_side side = wait_side_of(b.p, v, s);
        view_free(v);
        ck_assert(side.thing == THING_UNKNOWN || wait_side_is_kernels(side.thing));
        text_add(&text, "");
        wait_side_add_text(&text, b.p, &side, 1, sides[i].detailed);
        ck_assert_str_eq(text.s, sides[i].words);
        text_release(&text);
    }
    profile_free(b.p);
}
END_TEST

/* The kernel chose the port of who asks a name server, and another one for each question. */
START_TEST(a_chosen_port_of_udp_is_no_name)
{
    static const struct {
        uint32_t port;
        const char *name;
    } ports[] = {{53, "UDP on 0.0.0.0:53"}, {32767, "UDP on 0.0.0.0:32767"}, {32768, "UDP"}};
    struct profile_builder b = builder_start(1, "app");
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        struct text text = {0};
        struct wait wait = {.kind = WAIT_CALL, .side.thing = THING_SOCKET};
        wait.side.blocker = (struct blocker){.kind = BLOCKER_LISTENER,
                                             .net = NET_UDP,
                                             .host = profile_string(b.p, "0.0.0.0"),
                                             .port = ports[i].port};
        wait_add_address(&text, b.p, &wait);
        ck_assert_str_eq(text.s, ports[i].name);
        text_release(&text);
    }
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("wait_side", 20, sides_in_the_kernel_have_words, functions_and_bytes_have_to_agree,
           holders_are_data_and_no_names, a_chosen_port_of_udp_is_no_name)
