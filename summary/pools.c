#include "summary/pools.h"

#include "base/text.h"
#include "summary/frame_name.h"

/* A loop that waits for work.  Names match as in frame_name_has().  FILE: the end of its path, or
 * the beginning of the module's name.  POOL: the name of its threads, if the loop is also their
 * first function.
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
    {"worker", "/threadpool.c", "libuv worker"},
    {"PlatformWorkerThread", NULL, "node worker"}, /* node: src/node_platform.cc */
    /* HotSpot's own threads: src/hotspot/share/runtime, gc/g1 */
    {"VMThread::wait_for_operation", NULL, NULL},
    {"WatcherThread::sleep", NULL, NULL},
    {"G1ServiceThread::sleep_before_next_cycle", NULL, NULL},
    {"MonitorDeflationThread::monitor_deflation_thread_entry", NULL, NULL},
    /* Go: src/runtime/proc.go */
    {"runtime.stopm", NULL, NULL},
    {"runtime.findRunnable", NULL, NULL},
    {"runtime.stoplockedm", NULL, NULL},
    {"runtime.templateThread", NULL, NULL},
    {"runtime.sysmon", NULL, "go sysmon"},
    /* jemalloc src/background_thread.c, with whatever prefix it was built */
    {"background_thread_entry", NULL, "jemalloc"},
    {"je_background_thread_entry", NULL, "jemalloc"},
    {"background_work_sleep_once", NULL, NULL},
    /* CPython's library and common packages */
    {"_worker", "concurrent/futures/thread.py", NULL},
    {"wait_result_broken_or_wakeup", "concurrent/futures/process.py", NULL},
    {"_process_worker", "concurrent/futures/process.py", NULL},
    {"main", "/resource_tracker.py", NULL}, /* multiprocessing's and loky's */
    {"main", "multiprocessing/forkserver.py", NULL},
    {"worker", "multiprocessing/pool.py", NULL},
    {"_handle_workers", "multiprocessing/pool.py", NULL},
    {"_wait_for_updates", "multiprocessing/pool.py", NULL},
    {"_handle_tasks", "multiprocessing/pool.py", NULL},
    {"_handle_results", "multiprocessing/pool.py", NULL},
    {"_feed", "multiprocessing/queues.py", NULL},
    {"wait_result_broken_or_wakeup", "loky/process_executor.py", NULL}, /* joblib's */
    {"_process_worker", "loky/process_executor.py", NULL},
    {"_feed", "loky/backend/queues.py", NULL},
    {"_serve", "multiprocessing/resource_sharer.py", NULL},
    {"workloop", "billiard/pool.py", NULL}, /* celery's */
    {"body", "billiard/pool.py", NULL},
    {"_process_result", "billiard/pool.py", NULL},
    {"run", "celery/utils/timer2.py", NULL},
    {"_worker_loop", "torch/utils/data/_utils/worker.py", NULL},
    {"_run_once", "asyncio/base_events.py", NULL},
    {"do_one_step", "_utils/pin_memory.py", NULL},
    {"run", "tqdm/_monitor.py", NULL},
    {"run", "anyio/_backends/_asyncio.py", NULL}, /* threads of FastAPI's endpoints without async */
    {"handler_thread", "waitress/task.py", NULL},
    {"run", "event_file_writer.py", NULL},
};

/* Functions that take a loop's work from another process: reads of a queue's pipe, and the lock of
 * those that read it in turn. */
static const struct pool_loop queue_reads[] = {
    {"get", "multiprocessing/queues.py", NULL},
    {"get", "loky/backend/queues.py", NULL},
    {"__enter__", "multiprocessing/synchronize.py", NULL},
    {"get_payload", "billiard/queues.py", NULL},
    {"__enter__", "billiard/synchronize.py", NULL},
    {"receive", "billiard/pool.py", NULL},
    {"_poll_result", "billiard/pool.py", NULL},
    {"_recv", "billiard/pool.py", NULL},
    {"recv_bytes", "/connection.py", NULL},
    {"_recv_bytes", "/connection.py", NULL},
    {"_recv", "/connection.py", NULL},
    {"poll", "/connection.py", NULL},
    {"_poll", "/connection.py", NULL},
    {"wait", "/connection.py", NULL},
    {"accept", "/connection.py", NULL},
    {"accept", "/socket.py", NULL},
    {"select", "/selectors.py", NULL},
    {"_multiprocessing_SemLock_acquire*", NULL, NULL},
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

static bool is_loop(const struct pool_loop *loop, const struct shown_frame *f)
{
    if (!frame_name_has(f->name, loop->function))
        return false;
    if (!loop->file)
        return f->kind == SHOWN_NATIVE;
    if (f->file && str_ends(f->file, loop->file))
        return true;
    return f->kind == SHOWN_NATIVE && f->module && str_starts(f->module, loop->file);
}

static const struct pool_loop *find_loop(const struct pool_loop *loops, size_t n,
                                         const struct shown_frame *f)
{
    for (size_t i = 0; i < n; i++)
        if (is_loop(&loops[i], f))
            return &loops[i];
    return NULL;
}

static const struct pool_loop *loop_of(const struct shown_frame *f)
{
    return find_loop(pool_loops, sizeof pool_loops / sizeof *pool_loops, f);
}

bool pool_reads_queue(const struct shown_frame *f)
{
    return find_loop(queue_reads, sizeof queue_reads / sizeof *queue_reads, f) != NULL;
}

bool pool_writes_queue(const struct shown_frame *f)
{
    return frame_name_has(f->name, "_feed");
}

const char *pool_of_module(const struct shown_frame *f)
{
    for (size_t i = 0; f->module && i < sizeof pool_modules / sizeof *pool_modules; i++)
        if (str_starts(f->module, pool_modules[i].module))
            return pool_modules[i].pool;
    return NULL;
}

const char *pool_name(const struct shown_frame *f)
{
    const struct pool_loop *loop = loop_of(f);
    return loop && loop->pool ? loop->pool : pool_of_module(f);
}

bool pool_is_loop(const struct shown_frame *f)
{
    return loop_of(f) != NULL;
}

/* Of those: the thread that gives the work waits there, too, for the end of it.
 * Source: as above; torch's Engine::execute_with_graph_task() calls thread_main(). */
static const struct pool_loop joined_loops[] = {
    {"gomp_barrier_wait*", NULL, NULL},
    {"gomp_team_barrier_wait*", NULL, NULL},
    {"gomp_simple_barrier_wait", NULL, NULL},
    {"__kmp_hyper_barrier_release", NULL, NULL},
    {"__kmp_tree_barrier_release", NULL, NULL},
    {"__kmp_linear_barrier_release", NULL, NULL},
    {"__kmp_dist_barrier_release", NULL, NULL},
    {"__kmp_fork_barrier", NULL, NULL},
    {"__kmp_suspend*", NULL, NULL},
    {"torch::autograd::ReadyQueue::pop", NULL, NULL},
    {"torch::autograd::Engine::thread_main", NULL, NULL},
};

bool pool_is_joined(const struct shown_frame *f)
{
    return find_loop(joined_loops, sizeof joined_loops / sizeof *joined_loops, f) != NULL;
}

/* A function of a loop, and what users call the loop.  FILE as in pool_loops.
 * Source: the libraries' sources. */
static const struct pool_loop event_loops[] = {
    {"uv__io_poll", NULL, "libuv"},
    {"uv_run", NULL, "libuv"},
    {"uv__run", NULL, "libuv"},
    {"_run_once", "asyncio/base_events.py", "asyncio"},
    {"event_base_loop", NULL, "libevent"},
    {"ev_run", NULL, "libev"},
    {"g_main_context_iterate*", NULL, "GLib"},
    {"g_main_loop_run", NULL, "GLib"},
    {"QEventDispatcherUNIX::processEvents", NULL, "Qt"},
    {"asio::detail::epoll_reactor::run", NULL, "asio"},
    {"tokio::runtime::io::driver*", NULL, "tokio"},
    {"async_io::reactor*", NULL, "async-io"},
    {"runtime.netpoll", NULL, "Go"},
    {"netty_epoll_native_epollWait*", NULL, "netty"},
    {"Epoll1Poller::Work", NULL, "gRPC"},
    {"sd_event_wait", NULL, "sd-event"},
    {"sd_event_run", NULL, "sd-event"},
    {"_dbus_loop_iterate", NULL, "dbus"},
    {"wl_event_loop_dispatch", NULL, "wayland"},
    {"aeProcessEvents", NULL, "ae"},
    {"ngx_process_events_and_timers", NULL, "nginx"},
    {"run_poll_loop", NULL, "haproxy"},
    {"ServerLoop", "postmaster.c", "postmaster"},
    {"serve_forever", "/socketserver.py", "socketserver"},
    {"poll", "/asyncore.py", "asyncore"},
    {"poll2", "/asyncore.py", "asyncore"},
    {"poll", "/wasyncore.py", "waitress"},
    {"poll2", "/wasyncore.py", "waitress"},
    {"_run", "cheroot/connections.py", "cheroot"},
    {"wait", "gunicorn/workers/sync.py", "gunicorn"},
    {"run", "gunicorn/workers/gthread.py", "gunicorn"},
    {"wait_for_and_dispatch_events", "gunicorn/workers/gthread.py", "gunicorn"}, /* from 24.0 on */
    {"sleep", "gunicorn/arbiter.py", "gunicorn"},
    {"start", "tornado/ioloop.py", "tornado"},
    {"create_loop", "kombu/asynchronous/hub.py", "kombu"},
    {"get_events", "trio/_core/_io_epoll.py", "trio"},
    {"do_poll", "eventlet/hubs/epolls.py", "eventlet"},
    {"do_poll", "eventlet/hubs/poll.py", "eventlet"},
    {"wait", "eventlet/hubs/selects.py", "eventlet"},
    {"runforever", "supervisor/supervisord.py", "supervisor"},
    {"doPoll", "/twisted/internet/epollreactor.py", "twisted"},
    {"doPoll", "/twisted/internet/pollreactor.py", "twisted"},
    {"doSelect", "/twisted/internet/selectreactor.py", "twisted"},
};

/* What those loops poll by, where it is no library's of its own. */
static const struct pool_loop pollers[] = {
    {"epoll_dispatch", NULL, NULL}, /* libevent */
    {"poll_dispatch", NULL, NULL},
    {"epoll_poll", NULL, NULL}, /* libev */
    {"mio*", NULL, NULL},       /* tokio */
    {"polling*", NULL, NULL},   /* async-io */
    {"EpollWait", NULL, NULL},  /* Go */
    {"runtime.epollwait", NULL, NULL},
    {"socket_set_epoll_poll", NULL, NULL}, /* dbus-daemon */
    {"aeApiPoll", NULL, NULL},
    {"ngx_epoll_process_events", NULL, NULL},
    {"ngx_poll_process_events", NULL, NULL},
    {"_do_poll", "ev_epoll.c", NULL},  /* haproxy */
    {"WaitEventSetWait*", NULL, NULL}, /* PostgreSQL */
    {"select", "/selectors.py", NULL},
    {"_select", "/selectors.py", NULL},
    {"poll", "kombu/utils/eventio.py", NULL},
    {"_poll", "kombu/utils/eventio.py", NULL},
    {"poll", "supervisor/poller.py", NULL},
    {"_poll_fds", "supervisor/poller.py", NULL},
};

/* Functions that run a loop only until one answer is there. */
static const struct pool_loop answer_waits[] = {
    {"g_dbus_connection_send_message_with_reply_sync", NULL, NULL},
    {"g_dbus_connection_call_sync*", NULL, NULL},
    {"sd_bus_call", NULL, NULL},
    {"SyncProcessRunner*", NULL, NULL}, /* node's execSync(): src/spawn_sync.cc */
};

bool pool_waits_for_results(const struct shown_frame *f)
{
    static const char *const files[] = {"multiprocessing/pool.py", "concurrent/futures/_base.py",
                                        "billiard/pool.py", "joblib/parallel.py", NULL};
    return f->kind == SHOWN_PYTHON && f->file && str_ends_any(f->file, files) && !pool_is_loop(f);
}

const char *pool_event_loop(const struct shown_frame *f)
{
    const struct pool_loop *loop =
        find_loop(event_loops, sizeof event_loops / sizeof *event_loops, f);
    return loop ? loop->pool : NULL;
}

bool pool_is_poller(const struct shown_frame *f)
{
    return find_loop(pollers, sizeof pollers / sizeof *pollers, f) != NULL;
}

bool pool_waits_for_answer(const struct shown_frame *f)
{
    return find_loop(answer_waits, sizeof answer_waits / sizeof *answer_waits, f) != NULL;
}
