#include "summary/frame_role.h"

#include "summary/frame_name.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

/* The shown frames of STACK, as dump shows them. */
struct shown {
    struct profile_builder b;
    struct view *v;
    const struct shown_frame *frames;
    size_t n;
};

static struct shown show(const char *stack)
{
    struct shown s = {.b = builder_start(1, "app")};
    struct spot id = builder_spot(&s.b, stack);
    s.v = view_new(s.b.p, &(struct view_options){.whole = true});
    s.frames = view_stack(s.v, id, &s.n);
    ck_assert_uint_gt(s.n, 0);
    return s;
}

static void hide(struct shown *s)
{
    view_free(s->v);
    profile_free(s->b.p);
}

/* The role while running, and in a stack that ends in a wait; -1: the same. */
static const struct {
    const char *frame;
    enum frame_role running;
    int blocked;
} roles[] = {
    {"f@/home/me/train.py:1:2", ROLE_OWN, -1},
    {"f@/home/me/lib/pythonic.py:1:2", ROLE_OWN, -1},
    {"f@/opt/py/lib64/python3.9/re.py:1:2", ROLE_LIBRARY, -1},
    {"loads@/usr/lib/python3.11/json/__init__.py:1:2", ROLE_LIBRARY, -1},
    {"fit@/venv/lib/python3.11/site-packages/torch/optim.py:1:2", ROLE_LIBRARY, -1},
    {"__init__@<attrs generated init shop.Order>:1:2", ROLE_LIBRARY, -1},
    {"Thread.run@/usr/lib/python3.11/threading.py:1:2", ROLE_GLUE, -1},
    {"get@/usr/lib/python3.11/queue.py:1:2", ROLE_GLUE, -1},
    {"run_path@/usr/lib/python3.11/runpy.py:1:2", ROLE_GLUE, -1},
    {"_call@<frozen importlib._bootstrap>:1:2", ROLE_GLUE, -1},
    {"parse!app", ROLE_OWN, -1},
    {"parse!/home/me/build/libparse.so", ROLE_OWN, -1},
    {"parse?!app", ROLE_GLUE, -1},
    {"0x7f0010", ROLE_GLUE, -1},
    {"sin!libm.so.6", ROLE_LIBC, ROLE_GLUE},
    {"memcpy!libc.so.6", ROLE_LIBC, ROLE_GLUE},
    {"malloc!libc.so.6", ROLE_LIBC, -1}, /* whose lock or fault is its own */
    {"_int_free!libc.so.6", ROLE_LIBC, -1},
    {"malloc_my_way!app", ROLE_OWN, -1},
    {"inflate!/usr/lib/x86_64-linux-gnu/libz.so.1", ROLE_LIBRARY, -1},
    {"gemm!/venv/lib/python3.11/site-packages/numpy/core.so", ROLE_LIBRARY, -1},
    {"sync!/opt/app/libengine.so", ROLE_OWN, -1},
    {"sync!/usr/src/app/libengine.so", ROLE_OWN, -1},
    {"mkl_gemm!/opt/intel/lib/libmkl_core.so", ROLE_LIBRARY, -1},
    {"_start!app", ROLE_GLUE, -1},
    {"clone3!libc.so.6", ROLE_GLUE, -1},
    {"start_thread!libc.so.6", ROLE_GLUE, -1},
    {"start_threads!app", ROLE_OWN, -1},
    {"__gthread_mutex_lock!app", ROLE_GLUE, -1},
    {"std::mutex::lock!app", ROLE_GLUE, -1},
    {"std::sort!app", ROLE_LIBRARY, ROLE_GLUE},
    {"std::__1::sort!app", ROLE_LIBRARY, ROLE_GLUE},
    {"std::__1::mutex::lock!app", ROLE_GLUE, -1},
    {"std::_Bind<f>::operator()!app", ROLE_GLUE, -1},
    {"stdlike::mutex::lock!app", ROLE_OWN, -1},
    {"core::ops::function::FnOnce::call_once!app", ROLE_GLUE, -1},
    {"<alloc::boxed::Box<F> as core::ops::function::FnOnce>::call_once!app", ROLE_GLUE, -1},
    {"std::panicking::catch_unwind!app", ROLE_GLUE, -1},
    {"serde::de::from_str!app|/home/me/.cargo/registry/src/serde/de.rs:3", ROLE_LIBRARY, -1},
    {"app::main!app|/home/me/src/main.rs:3", ROLE_OWN, -1},
    {"runtime.mcall!server", ROLE_GLUE, -1},
    {"Monitor::wait!libjvm.so", ROLE_GLUE, -1},
    {"Monitor::wait!app", ROLE_OWN, -1},
    {"sort.Slice!server|/usr/local/go/src/sort/slice.go:3", ROLE_LIBRARY, -1},
    {"main.worker!server|/home/me/main.go:3", ROLE_OWN, -1},
    {"_queue_SimpleQueue_get!_queue.cpython-311.so", ROLE_LIBRARY, ROLE_GLUE},
    {"PyEval_EvalFrame!libpython3.11.so.1.0", ROLE_GLUE, -1},
    {"rml::private_worker::run!libtbb.so.12", ROLE_LIBRARY, -1},
    {"[gc]", ROLE_LIBRARY, -1},
    {"[truncated]", ROLE_GLUE, -1},
};

START_TEST(frames_have_roles)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        struct shown s = show(roles[i].frame);
        int blocked = roles[i].blocked < 0 ? (int)roles[i].running : roles[i].blocked;
        ck_assert_msg(frame_role(s.frames, false) == roles[i].running, "%s runs: %d",
                      roles[i].frame, (int)frame_role(s.frames, false));
        ck_assert_msg((int)frame_role(s.frames, true) == blocked, "%s waits: %d", roles[i].frame,
                      (int)frame_role(s.frames, true));
        hide(&s);
    }
}
END_TEST

/* What is on the way to a wait is glue, whoever asks. */
START_TEST(glue_has_the_role_of_glue)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        struct shown s = show(roles[i].frame);
        bool in_doubt = s.frames->guessed || s.frames->nameless || s.frames->kind == SHOWN_MARK;
        ck_assert_msg(in_doubt ||
                          is_glue_frame(s.frames) == (frame_role(s.frames, true) == ROLE_GLUE),
                      "%s", roles[i].frame);
        hide(&s);
    }
}
END_TEST

static const struct {
    const char *frame, *name, *of_thread;
} names[] = {
    {"__memcpy_avx_unaligned_erms!libc.so.6", "memcpy", NULL},
    {"__memcpy_avx_my_way!app", "__memcpy_avx_my_way", NULL},
    {"__GI___pthread_mutex_lock!libc.so.6", "pthread_mutex_lock", NULL},
    {"Pool::run(int)::{lambda()#1}::operator()!app", "Pool::run", NULL},
    {"main::{lambda()#2}::operator()!app", "main", "lambda in main"},
    {"main::{{closure}}!app", "main", "lambda in main"},
    {"app::main::{closure#0}!app", "app::main", "lambda in main"},
    {"main!app", "main", NULL},
    {"remain::{{closure}}!app", "remain", NULL},
    {"<app::Pool>::run!app", "app::Pool::run", NULL},
    {"<app::Pool as core::Run>::run!app", "<app::Pool as core::Run>::run", NULL},
    {"step.constprop.0!app", "step", NULL},
    {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<db::pump(int)::{lambda()#1}>>>::_M_"
     "run!app",
     "db::pump", NULL},
    {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<main()::<lambda()>>>>::_M_run!app",
     "main", "lambda in main"},
    {"f.<locals>.<lambda>@/a.py:1:2", "f", NULL},
    {"f.<locals>.g.<locals>.<genexpr>@/a.py:1:2", "g", NULL},
    {"f.<locals>.g@/a.py:1:2", "g", NULL},
    {"<module>@/a.py:1:2", "<module>", NULL},
    {"<module>@/usr/lib/python3.11/json/decoder.py:1:2", "json.decoder.<module>", NULL},
    {"<module>@/v/lib64/python3.11/site-packages/sympy/__init__.py:1:2", "sympy.<module>", NULL},
    {"<module>@/v/site-packages/a/\033[1m.py:1:2", "a.?[1m.<module>", NULL},
    {"load@/usr/lib/python3/dist-packages/yaml/loader.py:1:2", "load", NULL},
};

START_TEST(names_say_no_more_than_they_must)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct shown s = show(names[i].frame);
        struct text name = {0};
        frame_add_name(&name, s.frames);
        ck_assert_str_eq(name.s, names[i].name);
        text_clear(&name);
        frame_add_thread_name(&name, s.frames);
        ck_assert_str_eq(name.s, names[i].of_thread ? names[i].of_thread : names[i].name);
        text_release(&name);
        hide(&s);
    }
}
END_TEST

START_TEST(components_of_names_are_found)
{
    ck_assert(frame_name_has("WorkerLoop", "WorkerLoop"));
    ck_assert(frame_name_has("arrow::internal::WorkerLoop", "WorkerLoop"));
    ck_assert(frame_name_has("arrow::WorkerLoop.part.0", "WorkerLoop"));
    ck_assert(frame_name_has("Thread.run", "run"));
    ck_assert(frame_name_has("<std::sync::Mutex>::lock", "Mutex::lock"));
    ck_assert(frame_name_has("<rayon::Sleep>::sleep::<<a::B>::c::{closure#0}>", "Sleep::sleep"));
    ck_assert(frame_name_has("arrow::run<std::vector<int>, &f>", "run"));
    ck_assert(frame_name_has("a::operator->", "operator->"));
    ck_assert(frame_name_has("std::vector<int, std::allocator<int> >::size", "vector::size"));
    ck_assert(frame_name_has("a<(b)->c>::f", "a::f"));
    ck_assert(!frame_name_has("a<b::f", "a::f"));
    ck_assert(!frame_name_has("a::f<b::run>", "run"));
    ck_assert(!frame_name_has("<a::run>", "run"));
    ck_assert(frame_name_has("tokio::runtime::park::Inner::park", "tokio::runtime::park*"));
    ck_assert(!frame_name_has("MyWorkerLoop", "WorkerLoop"));
    ck_assert(!frame_name_has("WorkerLoop::run", "WorkerLoop"));
    ck_assert(!frame_name_has("not_tokio::runtime_park", "tokio::runtime::park*"));
}
END_TEST

CHECK_MAIN("frame_role", 20, frames_have_roles, glue_has_the_role_of_glue,
           names_say_no_more_than_they_must, components_of_names_are_found)
