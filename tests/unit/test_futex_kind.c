#include "summary/futex_kind.h"

#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

#define THREADING   "/usr/lib/python3.11/threading.py:1:2"
#define PYTHON_LOCK "sem_clockwait!libc.so.6 > futex [blocked]"

/* Stacks as eu-stack and py-spy show them, or from the libraries' sources. */
static const struct {
    enum futex_kind kind;
    const char *stack;
} cases[] = {
    {FUTEX_LOCK,
     "f!app > pthread_mutex_lock!libc.so.6 > __lll_lock_wait!libc.so.6 > futex [blocked]"},
    {FUTEX_LOCK, "f!app > __GI___pthread_mutex_lock!libpthread-2.31.so > futex [blocked]"},
    {FUTEX_LOCK, "f!app > malloc!libc.so.6 > __lll_lock_wait_private!libc.so.6 > futex [blocked]"},
    {FUTEX_LOCK, /* which is not the condition any more */
     "f!app > ___pthread_cond_wait!libc.so.6 > __pthread_mutex_cond_lock!libc.so.6 > "
     "__GI___lll_lock_wait!libc.so.6 > futex [blocked]"},
    {FUTEX_CONDITION, "f!app > std::condition_variable::wait!libstdc++.so.6 > "
                      "___pthread_cond_wait!libc.so.6 > __futex_abstimed_wait_common!libc.so.6 > "
                      "futex [blocked]"},
    {FUTEX_CONDITION, "f!app > pthread_cond_wait!app > futex [blocked]"}, /* linked statically */
    {FUTEX_RWLOCK, "f!app > pthread_rwlock_wrlock!libc.so.6 > futex [blocked]"},
    {FUTEX_SEMAPHORE, "f!app > __new_sem_wait_slow64.constprop.0!libc.so.6 > futex [blocked]"},
    {FUTEX_JOIN, "f!app > std::thread::join!libstdc++.so.6 > "
                 "__pthread_clockjoin_ex!libc.so.6 > futex [blocked]"},
    {FUTEX_BARRIER, "f!app > __pthread_barrier_wait!libc.so.6 > futex [blocked]"},
    {FUTEX_BARRIER, "f!app > gomp_team_barrier_wait_end!libgomp.so.1 > futex [blocked]"},
    {FUTEX_BARRIER, "f!app > std::barrier<std::__empty_completion>::arrive_and_wait!app > "
                    "syscall!libc.so.6 > futex [blocked]"},
    {FUTEX_LOCK,
     "f!app > std::sys::sync::mutex::futex::Mutex::lock_contended!app > "
     "std::sys::pal::unix::futex::futex_wait!app > syscall!libc.so.6 > futex [blocked]"},
    {FUTEX_CONDITION,
     "f!app > std::sys::sync::condvar::futex::Condvar::wait_optional_timeout!app > "
     "syscall!libc.so.6 > futex [blocked]"},
    {FUTEX_LOCK, "f!app > parking_lot::raw_mutex::RawMutex::lock_slow!app > futex [blocked]"},
    {FUTEX_LOCK, "ObjectMonitor::enter!libjvm.so > PlatformEvent::park!libjvm.so > "
                 "pthread_cond_wait!libc.so.6 > futex [blocked]"},
    {FUTEX_UNKNOWN, "Unsafe_Park!libjvm.so > Parker::park!libjvm.so > "
                    "pthread_cond_wait!libc.so.6 > futex [blocked]"},
    {FUTEX_LOCK, "runtime.lock2!server > runtime.futexsleep!server > futex [blocked]"},
    /* CPython's own locks are semaphores of the C library's. */
    {FUTEX_LOCK, "f@/a.py:1:2 > PyThread_acquire_lock_timed!libpython3.11.so.1.0 > " PYTHON_LOCK},
    {FUTEX_LOCK, "f@/a.py:1:2 > " PYTHON_LOCK},
    {FUTEX_CONDITION,
     "f@/a.py:1:2 > Event.wait@" THREADING " > Condition.wait@" THREADING " > " PYTHON_LOCK},
    {FUTEX_CONDITION,
     "f@/a.py:1:2 > get@/usr/lib/python3.9/queue.py:1:2 > wait@" THREADING " > " PYTHON_LOCK},
    {FUTEX_LOCK, "f@/a.py:1:2 > Condition.wait@" THREADING
                 " > Condition._acquire_restore@" THREADING " > " PYTHON_LOCK},
    {FUTEX_LOCK, "f@/a.py:1:2 > Condition.wait@" THREADING
                 " > rlock_acquire_restore!python3.11 > " PYTHON_LOCK},
    {FUTEX_JOIN, "f@/a.py:1:2 > Thread.join@" THREADING " > Thread._wait_for_tstate_lock@" THREADING
                 " > " PYTHON_LOCK},
    {FUTEX_JOIN, "Py_FinalizeEx!python3.11 > _shutdown@" THREADING " > " PYTHON_LOCK},
    {FUTEX_SEMAPHORE,
     "f@/a.py:1:2 > Semaphore.acquire@" THREADING " > Condition.wait@" THREADING " > " PYTHON_LOCK},
    {FUTEX_BARRIER, "f@/a.py:1:2 > Barrier.wait@" THREADING " > Barrier._wait@" THREADING
                    " > Condition.wait_for@" THREADING " > " PYTHON_LOCK},
    {FUTEX_CONDITION,
     "f@/a.py:1:2 > _queue_SimpleQueue_get!_queue.cpython-311-x86_64-linux-gnu.so > " PYTHON_LOCK},
    {FUTEX_SEMAPHORE,
     "f@/a.py:1:2 > acquire!_multiprocessing.cpython-311-x86_64-linux-gnu.so > " PYTHON_LOCK},
    /* An extension's own lock is no lock of Python's. */
    {FUTEX_LOCK, "f@/a.py:1:2 > db::get!db.cpython-311-x86_64-linux-gnu.so > "
                 "pthread_mutex_lock!libc.so.6 > futex [blocked]"},
    {FUTEX_SEMAPHORE, "f@/a.py:1:2 > db::get!db.so > " PYTHON_LOCK},
    {FUTEX_UNKNOWN, "f!app > syscall!libc.so.6 > futex [blocked]"},
    {FUTEX_UNKNOWN, "pthread_mutex_lock!libc.so.6 > f!app > syscall!libc.so.6 > futex [blocked]"},
    {FUTEX_UNKNOWN, "f!app > pthread_mutex_lock?!libc.so.6 > futex [blocked]"},
    {FUTEX_UNKNOWN, "f!app > sem_wait_for_friends!app > futex [blocked]"},
    {FUTEX_UNKNOWN, "f!app > pthread_mutex_lock!libc.so.6 > read pipe [blocked]"},
    {FUTEX_UNKNOWN, "f!app > pthread_mutex_lock!libc.so.6"},
    {FUTEX_UNKNOWN, "futex [blocked]"},
};

START_TEST(the_functions_around_a_futex_say_what_it_is)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shown_stack s = builder_shown(cases[i].stack);
        enum futex_kind kind = futex_kind(s.frames, s.n);
        ck_assert_msg(kind == cases[i].kind, "%s: %d", cases[i].stack, (int)kind);
        builder_shown_release(&s);
    }
}
END_TEST

CHECK_MAIN("futex_kind", 20, the_functions_around_a_futex_say_what_it_is)
