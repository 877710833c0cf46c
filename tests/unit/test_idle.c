#include "summary/idle.h"

#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

/* WAIT: the function of the pool that waits; NULL: the stack is no pool's wait.  The stacks are as
 * eu-stack shows them, or from the libraries' sources. */
static const struct {
    const char *wait, *stack;
} cases[] = {
    {"gomp_team_barrier_wait", "start_thread!libc.so.6 > gomp_thread_start!libgomp.so.1.0.0 > "
                               "gomp_team_barrier_wait!libgomp.so.1.0.0 > futex [blocked]"},
    {"inner", /* stripped: known by its module */
     "__clone3!libc.so.6 > start_thread!libc.so.6 > outer!libgomp.so.1.0.0 > "
     "inner!libgomp.so.1.0.0 > futex [blocked]"},
    {NULL, /* works, and waits for a lock of the user's */
     "start_thread!libc.so.6 > gomp_thread_start!libgomp.so.1 > user_loop!app > "
     "pthread_mutex_lock!libc.so.6 > futex [blocked]"},
    {NULL, /* a region's end, in the thread that started it */
     "main!app > gomp_team_end!libgomp.so.1 > inner!libgomp.so.1 > futex [blocked]"},
    {NULL, /* the same with names; and a barrier within the region */
     "main!app > gomp_team_end!libgomp.so.1 > gomp_team_barrier_wait_final!libgomp.so.1 > "
     "futex [blocked]"},
    {NULL, "gomp_thread_start!libgomp.so.1 > main._omp_fn.0!app > GOMP_barrier!libgomp.so.1 > "
           "gomp_team_barrier_wait!libgomp.so.1 > futex [blocked]"},
    {NULL, /* loss.backward() runs the engine's loop until its graph is done */
     "step@/src/train.py:1:9 > backward@/usr/lib/python3/dist-packages/torch/_tensor.py:1:2 > "
     "torch::autograd::Engine::thread_main!libtorch_cpu.so > "
     "torch::autograd::ReadyQueue::pop!libtorch_cpu.so > futex [blocked]"},
    {NULL, /* node's execSync() */
     "node::SyncProcessRunner::Run!node > uv_run!node > uv__io_poll!node > epoll_wait [blocked]"},
    {"WorkerThread.run", "WorkerThread.run@/lib/python3/site-packages/anyio/_backends/_asyncio.py:"
                         "1:2 > get@/lib/python3/queue.py:1:2 > futex [blocked]"},
    {NULL, "start_thread!libc.so.6 > gomp_thread_start!libgomp.so.1"}, /* spins */
    {"__kmp_hyper_barrier_release",
     "__kmp_launch_worker!libomp.so.5 > __kmp_launch_thread!libomp.so.5 > "
     "__kmp_fork_barrier!libomp.so.5 > __kmp_hyper_barrier_release!libomp.so.5 > "
     "pthread_cond_wait!libc.so.6 > futex [blocked]"},
    {"blas_thread_server",
     "start_thread!libc.so.6 > blas_thread_server!libscipy_openblas64_-32a4b2a6.so > "
     "pthread_cond_wait!libc.so.6 > futex [blocked]"},
    {"torch::autograd::ReadyQueue::pop",
     "torch::autograd::Engine::thread_main!libtorch_cpu.so > "
     "torch::autograd::ReadyQueue::pop!libtorch_cpu.so > "
     "std::condition_variable::wait!libstdc++.so.6 > futex [blocked]"},
    {"c10::ThreadPool::main_loop.constprop.0",
     "c10::ThreadPool::main_loop.constprop.0!libc10.so > futex [blocked]"},
    {"c10::ThreadPool::main_loop", "c10::ThreadPool::main_loop!libc10.so > futex [blocked]"},
    {NULL, "c10::ThreadPool::main_loop!libc10.so > user::task!app > futex [blocked]"},
    {"arrow::internal::WorkerLoop",
     "arrow::internal::WorkerLoop!libarrow.so.1500 > std::this!libarrow.so > futex [blocked]"},
    {"rayon_core::registry::WorkerThread::wait_until_cold",
     "rayon_core::registry::WorkerThread::wait_until_cold!polars.abi3.so > "
     "std::sys::sync::condvar::futex::Condvar::wait!polars.abi3.so > futex [blocked]"},
    {"tokio::runtime::park::Inner::park",
     "tokio::runtime::park::Inner::park!app > parking_lot::condvar::Condvar::wait!app > "
     "futex [blocked]"},
    {"je_background_thread_entry", "je_background_thread_entry!app > futex [blocked]"},
    {"_worker", "Thread._bootstrap@/usr/lib/python3.11/threading.py:1:2 > "
                "Thread.run@/usr/lib/python3.11/threading.py:1:2 > "
                "_worker@/usr/lib/python3.11/concurrent/futures/thread.py:66:81 > "
                "_queue_SimpleQueue_get!_queue.cpython-311-x86_64-linux-gnu.so > futex [blocked]"},
    {"Pool._handle_results", "Pool._handle_results@/lib/python3/multiprocessing/pool.py:1:2 > "
                             "get@/lib/python3/queue.py:1:2 > futex [blocked]"},
    {"VMThread::wait_for_operation",
     "VMThread::run!libjvm.so > VMThread::loop!libjvm.so > VMThread::wait_for_operation!libjvm.so "
     "> Monitor::wait!libjvm.so > pthread_cond_wait!libc.so.6 > futex [blocked]"},
    {"runtime.netpoll",
     "runtime.mcall!app > runtime.findRunnable!app > runtime.netpoll!app > "
     "internal/runtime/syscall.EpollWait!app > internal/runtime/syscall.Syscall6!app > "
     "epoll_pwait [blocked]"},
    {"runtime.stopm",
     "runtime.mcall!server > runtime.park_m!server > runtime.findRunnable!server > "
     "runtime.stopm!server > runtime.mPark!server > runtime.notesleep!server > "
     "runtime.futexsleep!server > runtime.futex!server > futex [blocked]"},
    {NULL, "main.wait!server > runtime.futexsleep!server > runtime.futex!server > futex [blocked]"},
    {"runtime.sysmon", "runtime.mstart1!server > runtime.sysmon!server > runtime.usleep!server > "
                       "nanosleep [blocked]"},
    {"worker", "worker!node|../deps/uv/src/threadpool.c:76 > uv_cond_wait!node > "
               "pthread_cond_wait!libc.so.6 > futex [blocked]"},
    {NULL, "worker!app|/src/my_pool.c:76 > pthread_cond_wait!libc.so.6 > futex [blocked]"},
    {"node::(anonymous namespace)::PlatformWorkerThread",
     "node::(anonymous namespace)::PlatformWorkerThread!node > uv_cond_wait!node > "
     "pthread_cond_wait!libc.so.6 > futex [blocked]"},
    {"worker",
     "run@/lib/multiprocessing/process.py:1:2 > worker@/lib/multiprocessing/pool.py:1:2 > "
     "SimpleQueue.get@/lib/multiprocessing/queues.py:1:2 > "
     "SemLock.__enter__@/lib/multiprocessing/synchronize.py:1:2 > "
     "_multiprocessing_SemLock_acquire_impl!_multiprocessing.so > "
     "sem_wait!libc.so.6 > futex [blocked]"},
    {"_ResourceSharer._serve",
     "_ResourceSharer._serve@/lib/python3/multiprocessing/resource_sharer.py:1:2 > "
     "Listener.accept@/lib/python3/multiprocessing/connection.py:1:2 > "
     "SocketListener.accept@/lib/python3/multiprocessing/connection.py:1:2 > "
     "socket.accept@/lib/python3/socket.py:1:2 > accept4 socket [blocked]"},
    {"Worker.workloop",
     "Worker.workloop@/x/billiard/pool.py:1:2 > "
     "Worker._make_protected_receive.<locals>.receive@/x/billiard/pool.py:1:2 > "
     "Worker._make_recv_method.<locals>._recv@/x/billiard/pool.py:1:2 > "
     "SimpleQueue.get_payload@/x/billiard/queues.py:1:2 > "
     "_ConnectionBase.recv_bytes@/x/billiard/connection.py:1:2 > "
     "Connection._recv@/x/billiard/connection.py:1:2 > read!libc.so.6 > read pipe [blocked]"},
    {"_process_worker",
     "<module>@<string>:1:1 > _process_worker@/x/loky/process_executor.py:1:2 > "
     "Queue.get@/x/loky/backend/queues.py:1:2 > "
     "_multiprocessing_SemLock_acquire_impl!_multiprocessing.so > sem_wait!libc.so.6 > "
     "futex [blocked]"},
    {"main", "<module>@<string>:1:1 > main@/lib/multiprocessing/resource_tracker.py:1:2 > "
             "read!libc.so.6 > read pipe [blocked]"},
    {NULL, "main@/home/me/tracker.py:1:2 > read!libc.so.6 > read pipe [blocked]"},
    {"ResultHandler._process_result",
     "ResultHandler.body@/x/billiard/pool.py:1:2 > "
     "ResultHandler._process_result@/x/billiard/pool.py:1:2 > "
     "Pool._setup_queues.<locals>._poll_result@/x/billiard/pool.py:1:2 > "
     "_ConnectionBase.poll@/x/billiard/connection.py:1:2 > wait@/x/billiard/connection.py:1:2 > "
     "_poll@/x/billiard/connection.py:1:2 > poll!libc.so.6 > poll [blocked]"},
    {NULL, "worker@/lib/multiprocessing/pool.py:1:2 > job@/home/me/a.py:1:2 > "
           "SimpleQueue.get@/lib/multiprocessing/queues.py:1:2 > read!libc.so.6 > "
           "read pipe [blocked]"},
    {NULL, "worker@/lib/multiprocessing/pool.py:1:2 > "
           "SimpleQueue.put@/lib/multiprocessing/queues.py:1:2 > "
           "SemLock.__enter__@/lib/multiprocessing/synchronize.py:1:2 > futex [blocked]"},
    {"Queue._feed", "Queue._feed@/lib/multiprocessing/queues.py:1:2 > "
                    "wait@/lib/python3/threading.py:1:2 > futex [blocked]"},
    {NULL, /* the lock of those that write in turn */
     "Queue._feed@/lib/multiprocessing/queues.py:1:2 > "
     "_multiprocessing_SemLock_acquire_impl!_multiprocessing.so > sem_wait!libc.so.6 > "
     "futex [blocked]"},
    {NULL, "blas_thread_server!libopenblas.so > malloc!libc.so.6 > futex [blocked]"},
    {NULL, "_worker@/home/me/own.py:66:81 > futex [blocked]"},
    {NULL, "blas_thread_server!libopenblas.so > ioctl /dev/x [blocked]"},
    {NULL, "futex [blocked]"},
};

START_TEST(pools_are_known)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shown_stack s = builder_shown(cases[i].stack);
        const struct shown_frame *f = idle_pool_wait(s.frames, s.n);
        ck_assert_msg(f ? cases[i].wait && str_eq(f->name, cases[i].wait) : !cases[i].wait,
                      "%s: %s", cases[i].stack, f ? f->name : "no pool");
        builder_shown_release(&s);
    }
}
END_TEST

static const struct {
    bool ordinary;
    const char *stack;
} waits[] = {
    {true, "f!app > futex [blocked]"},
    {true, "f!app > read pipe [blocked]"},
    {true, "f!app > epoll_wait [blocked]"},
    {true, "f!app > read /dev/pts/1 [blocked]"},
    {false, "f!app > read /data/x [blocked]"},
    {false, "f!app > ioctl /dev/nvidiactl [blocked]"},
    {false, "f!app > futexes [blocked]"},
    {false, "f!app > [waiting for GIL]"},
    {false, "f!app"},
};

START_TEST(ordinary_waits_are_told_from_others)
{
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        struct shown_stack s = builder_shown(waits[i].stack);
        ck_assert_msg(idle_is_ordinary_wait(s.frames, s.n) == waits[i].ordinary, "%s",
                      waits[i].stack);
        builder_shown_release(&s);
    }
}
END_TEST

/* What the loop is called that polls; NULL: the stack is no event loop's. */
static const struct {
    const char *loop, *stack;
} polls[] = {
    {NULL, "main!app > epoll_wait!libc.so.6 > epoll_wait [blocked]"},
    {NULL, "read_gauge@/src/g.py:1:2 > select@/usr/lib/python3.11/selectors.py:1:2 > "
           "epoll_wait [blocked]"},
    {NULL, "PostgresMain!postgres > ProcSleep!postgres > WaitLatch!postgres > "
           "WaitEventSetWait!postgres > epoll_wait [blocked]"},
    {"postmaster", "ServerLoop!postgres|/src/postmaster.c:7 > WaitEventSetWait!postgres > "
                   "epoll_wait [blocked]"},
    {"asyncio", "run@/a.py:1:2 > _run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
                "select@/usr/lib/python3.11/selectors.py:1:2 > epoll_wait [blocked]"},
    {"uvloop", "uv_run!loop.cpython-311.so > uv__io_poll!loop.cpython-311.so > "
               "epoll_pwait [blocked]"},
    {"libuv", "uv_run!node > uv__io_poll!node > epoll_pwait [blocked]"},
    {"gunicorn", "SyncWorker.wait@/x/gunicorn/workers/sync.py:1:2 > pselect6 [blocked]"},
    {"GLib", "g_main_loop_run!libglib-2.0.so.0 > poll!libc.so.6 > poll [blocked]"},
    {"ae", "aeMain!redis > aeProcessEvents!redis > aeApiPoll!redis > epoll_wait [blocked]"},
    {"tokio", "tokio::runtime::io::driver::Driver::turn!app > mio::poll::Poll::poll!app > "
              "mio::sys::unix::selector::Selector::select!app > epoll_wait [blocked]"},
    {"asio", "main!app > boost::asio::detail::epoll_reactor::run!app > epoll_wait [blocked]"},
    {"eventlet", "run@/x/eventlet/hubs/hub.py:1:2 > do_poll@/x/eventlet/hubs/epolls.py:1:2 > "
                 "epoll_wait [blocked]"},
    /* a callback's poll is the callback's */
    {NULL, "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
           "Handle._run@/usr/lib/python3.11/asyncio/events.py:1:2 > ask@/src/a.py:1:2 > "
           "select@/usr/lib/python3.11/selectors.py:1:2 > epoll_wait [blocked]"},
    {NULL, "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
           "Handle._run@/usr/lib/python3.11/asyncio/events.py:1:2 > "
           "wait_for_read@/x/site-packages/urllib3/util/wait.py:1:2 > poll [blocked]"},
    {NULL, "aeProcessEvents!redis > readQuery!redis > sync!redis > epoll_wait [blocked]"},
    {NULL, "g_main_loop_run!libglib-2.0.so.0 > g_main_context_iterate!libglib-2.0.so.0 > "
           "XNextEvent!libX11.so.6 > poll [blocked]"},
    {NULL, "uv_run!node > ask!app > epoll_pwait [blocked]"},
    /* D-Bus: a loop that ends with the one answer */
    {NULL, "ask!app > g_dbus_connection_call_sync!libgio-2.0.so.0 > "
           "g_main_loop_run!libglib-2.0.so.0 > poll [blocked]"},
    {NULL, "main!app > poll!libc.so.6 > poll [blocked]"},
    {NULL, "g_main_loop_run!libglib-2.0.so.0 > handle!app > futex [blocked]"},
    {NULL, "g_main_loop_run!libglib-2.0.so.0 > poll!libc.so.6"},
};

START_TEST(event_loops_are_known)
{
    for (size_t i = 0; i < sizeof polls / sizeof *polls; i++) {
        struct shown_stack s = builder_shown(polls[i].stack);
        const char *loop = idle_event_loop(s.frames, s.n);
        ck_assert_msg(loop ? polls[i].loop && str_eq(loop, polls[i].loop) : !polls[i].loop,
                      "%s: %s", polls[i].stack, loop ? loop : "no loop");
        builder_shown_release(&s);
    }
}
END_TEST

CHECK_MAIN("idle", 20, pools_are_known, event_loops_are_known, ordinary_waits_are_told_from_others)
