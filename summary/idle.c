#include "summary/idle.h"

#include <string.h>

#include "base/text.h"

/* A loop that waits for work.  A name matches whole or after "::" or "."; with a '*' at its end,
 * whatever follows.  FILE: end of the path, for Python.  POOL: what its threads are called, if the
 * loop is also their first function.
 * Source: the libraries' sources, by the names their threads show when they wait. */
static const struct pool_loop {
    const char *function, *file, *pool;
} pool_loops[] = {
    /* libgomp: config/linux/bar.c, team.c */
    {"gomp_barrier_wait_end", NULL, NULL},
    {"gomp_barrier_wait", NULL, NULL},
    {"gomp_barrier_wait_last", NULL, NULL},
    {"gomp_team_barrier_wait_end", NULL, NULL},
    {"gomp_team_barrier_wait", NULL, NULL},
    {"gomp_team_barrier_wait_final", NULL, NULL},
    {"gomp_simple_barrier_wait", NULL, NULL},
    {"gomp_thread_start", NULL, "omp worker"},
    /* libomp and libiomp5: kmp_barrier.cpp, kmp_wait_release.h, z_Linux_util.cpp */
    {"__kmp_hyper_barrier_release", NULL, NULL},
    {"__kmp_tree_barrier_release", NULL, NULL},
    {"__kmp_linear_barrier_release", NULL, NULL},
    {"__kmp_dist_barrier_release", NULL, NULL},
    {"__kmp_fork_barrier", NULL, NULL},
    {"__kmp_suspend_64*", NULL, NULL},
    {"__kmp_suspend_template*", NULL, NULL},
    {"__kmp_launch_monitor", NULL, "omp monitor"},
    {"__kmp_launch_thread", NULL, NULL},
    {"__kmp_launch_worker", NULL, "omp worker"},
    /* OpenBLAS driver/others/blas_server.c; BLIS and numba have OpenMP's or their own */
    {"blas_thread_server", NULL, "blas worker"},
    {"thread_worker", "workqueue", "numba worker"},
    /* TBB: private_server.cpp */
    {"rml::private_worker::run", NULL, "tbb worker"},
    {"private_worker::thread_routine", NULL, "tbb worker"},
    /* torch: c10/core/thread_pool.cpp, autograd/engine.cpp, pthreadpool, ProcessGroupNCCL.cpp */
    {"c10::ThreadPool::main_loop", NULL, "c10 pool"},
    {"torch::autograd::ReadyQueue::pop", NULL, NULL},
    {"torch::autograd::Engine::thread_main", NULL, "autograd"},
    {"wait_for_new_command", NULL, NULL},
    {"wait_worker_threads", NULL, NULL},
    {"ProcessGroupNCCL::heartbeatMonitor", NULL, "nccl monitor"},
    {"ProcessGroupNCCL::ncclCommWatchdog", NULL, "nccl watchdog"},
    {"ProcessGroupNCCL::watchdogHandler", NULL, "nccl watchdog"},
    /* arrow util/thread_pool.cc; Eigen, also in TensorFlow and onnxruntime */
    {"arrow::internal::WorkerLoop", NULL, "arrow pool"},
    {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<arrow::internal::ThreadPool::*",
     NULL, "arrow pool"},
    {"WorkerLoop", NULL, NULL},
    {"WaitForWork", NULL, NULL},
    {"EventCount::CommitWait", NULL, NULL},
    /* rayon (also polars), tokio: registry.rs, sleep/mod.rs; runtime/ */
    {"rayon_core::registry::WorkerThread::wait_until_cold", NULL, NULL},
    {"rayon_core::sleep::Sleep::sleep", NULL, NULL},
    {"rayon_core::latch::LockLatch::wait", NULL, NULL},
    {"tokio::runtime::park*", NULL, NULL},
    {"tokio::runtime::scheduler*", NULL, NULL},
    {"tokio::runtime::blocking::pool*", NULL, NULL},
    {"tokio::runtime::io::driver*", NULL, NULL},
    {"tokio::runtime::time*", NULL, NULL},
    /* gRPC: executor.cc, timer_manager.cc, work_stealing_thread_pool.cc; zmq, libuv */
    {"grpc_core::Executor::ThreadMain", NULL, "grpc executor"},
    {"TimerManager::MainLoop", NULL, "grpc timer"},
    {"grpc_event_engine::experimental::WorkStealingThreadPool*", NULL, "grpc pool"},
    {"timer_main_loop", NULL, NULL},
    {"zmq::epoll_t::loop", NULL, "zmq io"},
    {"uv__io_poll", NULL, NULL},
    /* jemalloc src/background_thread.c, with whatever prefix it was built */
    {"background_thread_entry", NULL, "jemalloc"},
    {"je_background_thread_entry", NULL, "jemalloc"},
    {"background_work_sleep_once", NULL, NULL},
    /* CPython's library and common packages */
    {"_worker", "concurrent/futures/thread.py", NULL},
    {"wait_result_broken_or_wakeup", "concurrent/futures/process.py", NULL},
    {"worker", "multiprocessing/pool.py", NULL},
    {"_handle_workers", "multiprocessing/pool.py", NULL},
    {"_wait_for_updates", "multiprocessing/pool.py", NULL},
    {"_handle_tasks", "multiprocessing/pool.py", NULL},
    {"_handle_results", "multiprocessing/pool.py", NULL},
    {"_feed", "multiprocessing/queues.py", NULL},
    {"_run_once", "asyncio/base_events.py", NULL},
    {"do_one_step", "_utils/pin_memory.py", NULL},
    {"run", "tqdm/_monitor.py", NULL},
    {"run", "event_file_writer.py", NULL},
};

/* Libraries all of whose threads are pool workers: with them a stripped library is known too. */
static const struct {
    const char *module, *pool;
} pool_modules[] = {
    {"libgomp", "omp worker"},
    {"libiomp5", "omp worker"},
    {"libomp.so", "omp worker"},
    {"libomp5", "omp worker"},
    {"libomp-", "omp worker"},
    {"libopenblas", "blas worker"},
    {"libscipy_openblas", "blas worker"},
    {"libtbb", "tbb worker"},
    {"libcuda.so", "cuda driver"},
};

/* Does NAME, without what compilers and the view append, end in the whole component PART? */
static bool names_part(const char *name, const char *part)
{
    static const char *const clones[] = {".constprop", ".isra", ".part", ".cold"};
    size_t len = strlen(part);
    if (len && part[len - 1] == '*')
        return strncmp(name, part, len - 1) == 0;
    size_t end = strcspn(name, " "); /* before " [guessed]" */
    for (size_t i = 0; i < sizeof clones / sizeof *clones; i++) {
        const char *clone = strstr(name, clones[i]);
        if (clone && (size_t)(clone - name) < end)
            end = (size_t)(clone - name);
    }
    if (end < len || memcmp(name + end - len, part, len) != 0)
        return false;
    return end == len || name[end - len - 1] == '.' || name[end - len - 1] == ':';
}

static bool is_loop(const struct pool_loop *loop, const struct shown_frame *f)
{
    if (!names_part(f->name, loop->function))
        return false;
    if (!loop->file)
        return f->kind == SHOWN_NATIVE;
    return f->kind == SHOWN_PYTHON ? str_ends(f->file ? f->file : "", loop->file)
                                   : f->module && str_starts(f->module, loop->file);
}

static const struct pool_loop *loop_of(const struct shown_frame *f)
{
    for (size_t i = 0; i < sizeof pool_loops / sizeof *pool_loops; i++)
        if (is_loop(&pool_loops[i], f))
            return &pool_loops[i];
    return NULL;
}

static const char *module_pool(const struct shown_frame *f)
{
    for (size_t i = 0; f->module && i < sizeof pool_modules / sizeof *pool_modules; i++)
        if (str_starts(f->module, pool_modules[i].module))
            return pool_modules[i].pool;
    return NULL;
}

const char *idle_pool_name(const struct shown_frame *f)
{
    const struct pool_loop *loop = loop_of(f);
    return loop && loop->pool ? loop->pool : module_pool(f);
}

static bool starts_with_any(const char *s, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (str_starts(s, *prefixes))
            return true;
    return false;
}

bool idle_is_way(const struct shown_frame *f)
{
    static const char *const modules[] = {"libc.so", "libc-",     "libpthread", "ld-",    "[vdso]",
                                          "libstdc", "libc++.so", "libpython",  "python", "_queue.",
                                          "select.", "_socket.",  "_multiproc", "ld.so",  "libgcc",
                                          "_thread", NULL};
    static const char *const names[] = {
        "std::",   "core::",   "<std::",     "parking_lot",  "<core::", "absl::",   "mio::", "gpr_",
        "boost::", "pthread_", "void std::", "alloc::boxed", "nsync_",  "uv_cond_", NULL};
    static const char *const files[] = {"/threading.py", "/queue.py", "/selectors.py",
                                        "/multiprocessing/connection.py", NULL};
    if (f->kind == SHOWN_MARK)
        return true;
    if (f->kind == SHOWN_NATIVE)
        return (f->module && starts_with_any(f->module, modules)) ||
               (starts_with_any(f->name, names) && !loop_of(f));
    for (size_t i = 0; f->file && files[i]; i++)
        if (str_ends(f->file, files[i]))
            return true;
    return false;
}

static bool is_off_cpu(const struct shown_frame *stack, size_t n)
{
    return n && stack[n - 1].kind == SHOWN_MARK && stack[n - 1].file &&
           str_eq(stack[n - 1].file, "[off-cpu]");
}

const struct shown_frame *idle_pool_wait(const struct shown_frame *stack, size_t n)
{
    if (!idle_is_ordinary_wait(stack, n))
        return NULL;
    size_t caller = n;
    while (caller && idle_is_way(&stack[caller - 1]))
        caller--;
    if (!caller)
        return NULL;
    const struct shown_frame *f = &stack[caller - 1];
    if (loop_of(f))
        return f;
    /* A library of workers: its own all the way up, so that no task of a user is on the stack. */
    const char *pool = module_pool(f);
    for (size_t i = caller; pool && i-- > 0;)
        if (module_pool(&stack[i]) != pool && !idle_is_way(&stack[i]))
            pool = NULL;
    return pool ? f : NULL;
}

bool idle_is_ordinary_wait(const struct shown_frame *stack, size_t n)
{
    static const char *const calls[] = {
        "futex",           "futex_wait",    "futex_waitv",     "poll",
        "ppoll",           "select",        "pselect6",        "epoll_wait",
        "epoll_pwait",     "epoll_pwait2",  "nanosleep",       "pause",
        "clock_nanosleep", "rt_sigsuspend", "rt_sigtimedwait", "accept",
        "accept4",         "recvfrom",      "recvmsg",         "recvmmsg",
        "wait4",           "waitid",        "io_uring_enter",  "io_getevents",
        "io_pgetevents",   "semop",         "semtimedop",      "msgrcv",
        "mq_timedreceive", "sched_yield",   "restart_syscall", NULL};
    if (!is_off_cpu(stack, n))
        return false;
    const char *name = stack[n - 1].name;
    size_t len = strcspn(name, " ");
    for (size_t i = 0; calls[i]; i++)
        if (strlen(calls[i]) == len && memcmp(calls[i], name, len) == 0)
            return true;
    /* A read waits for somebody's message unless it names a file. */
    return str_starts(name, "read ") && !strchr(name, '/');
}
