#include "summary/spinning.h"

#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/view.h"

const char spinning_file[] = "[on-cpu]";

enum { MAX_LISTED = 16 };

/* The waits.  MODULES and NAMES, each a beginning, are what may stand inside of the waiting
 * function: the library's own code. */
static const struct {
    const char *name, *words, *remedy;
    const char *modules[MAX_LISTED + 1], *names[MAX_LISTED + 1];
    const char
        *yielding[MAX_LISTED + 1]; /* modules whose sched_yield() is this wait, if stripped */
    bool workers; /* a thread of nothing but these modules waits for work, whatever is stripped */
} kinds[SPIN_KINDS] = {
    [SPIN_GPU] = {.name = "[spinning: waits for GPU]",
                  .words = "for the GPU",
                  .remedy = "cudaDeviceScheduleBlockingSync lets it sleep.",
                  .modules = {"libcuda", "libnvidia", "libamdhip", "libhsa-", "libnvcuda"},
                  .names = {"cudart::", "__cudart", "hsa_", "rocr::", "hip::"}},
    [SPIN_NCCL] = {.name = "[spinning: NCCL progress]",
                   .words = "for messages of NCCL",
                   .remedy = "",
                   .modules = {"libnccl", "librccl", "libcuda", "libnvidia", "libibverbs",
                               "libmlx"},
                   .names = {"nccl"}},
    [SPIN_OPENMP] = {.name = "[spinning: OpenMP barrier]",
                     .words = "at OpenMP barriers",
                     .remedy = "OMP_WAIT_POLICY=passive lets its threads sleep.",
                     .modules = {"libgomp", "libiomp5", "libomp.so", "libomp5", "libomp-"},
                     .names = {"gomp_", "GOMP_", "__kmp", "kmp_flag"},
                     .workers = true},
    [SPIN_OPENMP_LOCK] = {.name = "[spinning: OpenMP lock]",
                          .words = "for OpenMP locks",
                          .remedy = "OMP_WAIT_POLICY=passive lets its threads sleep.",
                          .modules = {"libgomp", "libiomp5", "libomp.so", "libomp5", "libomp-"},
                          .names = {"gomp_", "GOMP_", "__kmp", "omp_"}},
    [SPIN_TBB] = {.name = "[spinning: TBB waits for tasks]",
                  .words = "for tasks of TBB",
                  .remedy = "",
                  .modules = {"libtbb.so", "libtbb-"},
                  .names = {"tbb::detail::r1::", "tbb::internal::"},
                  .workers = true},
    [SPIN_BLAS] = {.name = "[spinning: BLAS worker]",
                   .words = "for work of BLAS",
                   .remedy = "OPENBLAS_THREAD_TIMEOUT=4 lets it sleep sooner.",
                   .yielding = {"libopenblas", "libscipy_openblas"}},
    [SPIN_UCX] = {.name = "[spinning: UCX progress]",
                  .words = "for messages of UCX",
                  .remedy = "",
                  .modules = {"libucp", "libuct", "libucs", "libucm", "libibverbs", "libmlx"},
                  .names = {"ucp_", "uct_", "ucs_"}},
    [SPIN_MPI] = {.name = "[spinning: MPI progress]",
                  .words = "for messages of MPI",
                  .remedy = "",
                  .modules = {"libmpi", "libpmpi", "libopen-pal", "libopen-rte", "mca_",
                              "libfabric", "libpsm", "libucp", "libuct", "libucs", "libucm",
                              "libibverbs", "libmlx", "libevent"},
                  .names = {"opal_", "ompi_", "mca_", "MPI_", "MPID", "MPIR_", "PMPI_", "ucp_",
                            "uct_", "ucs_"}},
    [SPIN_LOCK] = {.name = "[spinning: spin lock]", .words = "for spin locks", .remedy = ""},
    [SPIN_YIELD] = {.name = "[spinning: sched_yield]",
                    .words = "in sched_yield",
                    .remedy = "A condition variable or a futex would let it sleep."},
};

/* The functions that wait.  Names match as in frame_name_has().  MODULE: the beginning of its
 * name, where the name alone may be anybody's.  Source: the libraries' sources and symbol tables:
 * CUDA's and HIP's runtime and driver, nccl src/proxy.cc, libgomp config/linux/{bar,wait}.h and
 * libgomp.map, LLVM's kmp_barrier.cpp, kmp_wait_release.h and kmp_csupport.cpp, oneTBB src/tbb,
 * OpenBLAS driver/others/blas_server.c, UCX src/ucp/core, Open MPI opal/runtime and ompi/mca/pml,
 * whose functions call sched_yield last of all in opal_progress(), and are below it then; MPICH
 * src/mpid.  What libraries export stands here too where all that it calls is stripped, as in
 * Debian's libgomp, libomp and libmpich.  MPI's reductions compute, so that only what they call
 * tells whether they wait. */
static const struct {
    const char *function, *module;
    enum spin_kind kind;
} waits[] = {
    {"cudaDeviceSynchronize*", NULL, SPIN_GPU},
    {"cudaStreamSynchronize*", NULL, SPIN_GPU},
    {"cudaEventSynchronize*", NULL, SPIN_GPU},
    {"cudaThreadSynchronize*", NULL, SPIN_GPU},
    {"cuCtxSynchronize*", NULL, SPIN_GPU},
    {"cuStreamSynchronize*", NULL, SPIN_GPU},
    {"cuEventSynchronize*", NULL, SPIN_GPU},
    {"hipDeviceSynchronize*", NULL, SPIN_GPU},
    {"hipStreamSynchronize*", NULL, SPIN_GPU},
    {"hipEventSynchronize*", NULL, SPIN_GPU},
    {"hsa_signal_wait*", NULL, SPIN_GPU},
    {"ncclProxyProgress", NULL, SPIN_NCCL},
    {"ncclCommPollEventCallbacks*", NULL, SPIN_NCCL},
    {"waitWorkFifoAvailable*", NULL, SPIN_NCCL},
    {"ncclShmemAllgather", NULL, SPIN_NCCL},
    {"ncclPollProxyResponse", NULL, SPIN_NCCL},
    {"ncclRmaProxyProgressThread", NULL, SPIN_NCCL},
    {"ncclStrongStreamSynchronize", NULL, SPIN_NCCL},
    {"ncclSocketWait", NULL, SPIN_NCCL},
    {"gomp_barrier_wait*", NULL, SPIN_OPENMP},
    {"gomp_team_barrier_wait*", NULL, SPIN_OPENMP},
    {"gomp_simple_barrier_wait*", NULL, SPIN_OPENMP},
    {"gomp_thread_start", NULL, SPIN_OPENMP},
    {"gomp_team_end", NULL, SPIN_OPENMP},
    {"GOMP_barrier*", NULL, SPIN_OPENMP},
    {"GOMP_parallel*", NULL, SPIN_OPENMP},
    {"GOMP_loop_end*", NULL, SPIN_OPENMP},
    {"GOMP_sections_end*", NULL, SPIN_OPENMP},
    {"GOMP_single_copy_start", NULL, SPIN_OPENMP},
    {"GOMP_doacross_wait", NULL, SPIN_OPENMP},
    {"GOMP_taskwait*", NULL, SPIN_OPENMP},
    {"GOMP_taskgroup_end", NULL, SPIN_OPENMP},
    {"__kmp_hyper_barrier*", NULL, SPIN_OPENMP},
    {"__kmp_hierarchical_barrier*", NULL, SPIN_OPENMP},
    {"__kmp_tree_barrier*", NULL, SPIN_OPENMP},
    {"__kmp_linear_barrier*", NULL, SPIN_OPENMP},
    {"__kmp_dist_barrier*", NULL, SPIN_OPENMP},
    {"__kmp_fork_barrier*", NULL, SPIN_OPENMP},
    {"__kmp_join_barrier*", NULL, SPIN_OPENMP},
    {"__kmp_barrier*", NULL, SPIN_OPENMP},
    {"__kmp_wait*", NULL, SPIN_OPENMP},
    {"__kmp_flag_wait*", NULL, SPIN_OPENMP},
    {"__kmpc_barrier*", NULL, SPIN_OPENMP},
    {"__kmpc_fork_call*", NULL, SPIN_OPENMP},
    {"__kmpc_cancel_barrier", NULL, SPIN_OPENMP},
    {"__kmpc_reduce*", NULL, SPIN_OPENMP},
    {"__kmpc_end_reduce*", NULL, SPIN_OPENMP},
    {"__kmpc_copyprivate", NULL, SPIN_OPENMP},
    {"__kmpc_omp_taskwait*", NULL, SPIN_OPENMP},
    {"__kmpc_omp_wait_deps", NULL, SPIN_OPENMP},
    {"__kmpc_end_taskgroup", NULL, SPIN_OPENMP},
    {"gomp_mutex_lock_slow", NULL, SPIN_OPENMP_LOCK},
    {"GOMP_critical_start", NULL, SPIN_OPENMP_LOCK},
    {"GOMP_critical_name_start", NULL, SPIN_OPENMP_LOCK},
    {"__kmpc_critical*", NULL, SPIN_OPENMP_LOCK},
    {"__kmpc_set_lock", NULL, SPIN_OPENMP_LOCK},
    {"omp_set_lock*", NULL, SPIN_OPENMP_LOCK},
    {"omp_set_nest_lock*", NULL, SPIN_OPENMP_LOCK},
    {"receive_or_steal_task*", "libtbb", SPIN_TBB},
    {"local_wait_for_all*", "libtbb", SPIN_TBB},
    {"r1::wait", "libtbb", SPIN_TBB},
    {"r1::execute_and_wait", "libtbb", SPIN_TBB},
    {"waiter_base::pause*", "libtbb", SPIN_TBB},
    {"prolonged_pause*", "libtbb", SPIN_TBB},
    {"blas_thread_server", NULL, SPIN_BLAS},
    {"exec_blas_async_wait", NULL, SPIN_BLAS},
    {"ucp_worker_progress", NULL, SPIN_UCX},
    {"ucs_callbackq_dispatch", NULL, SPIN_UCX},
    {"uct_worker_progress", NULL, SPIN_UCX},
    {"opal_progress", NULL, SPIN_MPI},
    {"ompi_request_default_wait*", NULL, SPIN_MPI},
    {"ompi_sync_wait_mt", NULL, SPIN_MPI},
    {"mca_pml_ob1_recv", NULL, SPIN_MPI},
    {"mca_pml_ob1_mrecv", NULL, SPIN_MPI},
    {"mca_pml_ob1_send", NULL, SPIN_MPI},
    {"mca_pml_ob1_probe", NULL, SPIN_MPI},
    {"mca_pml_ob1_mprobe", NULL, SPIN_MPI},
    {"mca_pml_ucx_recv", NULL, SPIN_MPI},
    {"mca_pml_ucx_mrecv", NULL, SPIN_MPI},
    {"mca_pml_ucx_send", NULL, SPIN_MPI},
    {"mca_pml_ucx_probe", NULL, SPIN_MPI},
    {"mca_pml_ucx_mprobe", NULL, SPIN_MPI},
    {"MPID_Progress_wait*", NULL, SPIN_MPI},
    {"MPIDI_CH3I_Progress*", NULL, SPIN_MPI},
    {"MPIDI_OFI_progress*", NULL, SPIN_MPI},
    {"MPIR_Wait*", NULL, SPIN_MPI},
    {"MPI_Recv", NULL, SPIN_MPI},
    {"MPI_Mrecv", NULL, SPIN_MPI},
    {"MPI_Send", NULL, SPIN_MPI},
    {"MPI_Ssend", NULL, SPIN_MPI},
    {"MPI_Sendrecv*", NULL, SPIN_MPI},
    {"MPI_Probe", NULL, SPIN_MPI},
    {"MPI_Mprobe", NULL, SPIN_MPI},
    {"MPI_Wait*", NULL, SPIN_MPI},
    {"MPI_Win_wait", NULL, SPIN_MPI},
    {"MPI_Win_fence", NULL, SPIN_MPI},
    {"MPI_Barrier", NULL, SPIN_MPI},
    {"MPI_Bcast", NULL, SPIN_MPI},
    {"MPI_Gather*", NULL, SPIN_MPI},
    {"MPI_Scatter*", NULL, SPIN_MPI},
    {"MPI_Allgather*", NULL, SPIN_MPI},
    {"MPI_Alltoall*", NULL, SPIN_MPI},
    {"pthread_spin_lock", NULL, SPIN_LOCK},
};

/* The functions of the C library that a wait calls again and again.  All others do work. */
static bool is_asked_again(const struct shown_frame *f)
{
    static const char *const names[] = {
        "sched_yield", "clock_gettime",   "gettimeofday", "time",         "poll",
        "ppoll",       "epoll_wait",      "ioctl",        "syscall",      "nanosleep",
        "usleep",      "clock_nanosleep", "getpid",       "pthread_self", NULL};
    if (f->entry || str_eq(f->module, "[vdso]"))
        return true;
    const char *name = frame_libc_name(f->name);
    return str_is_one_of(name, names) || str_starts(name, "pthread_mutex_") ||
           str_starts(name, "pthread_spin_");
}

static enum spin_kind wait_of(const struct shown_frame *f)
{
    const char *name = f->name + str_starts(f->name, "PMPI_"); /* another name of "MPI_…" */
    if (f->libc && str_eq(frame_libc_name(f->name), "sched_yield"))
        return SPIN_YIELD;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if ((!waits[i].module || (f->module && str_starts(f->module, waits[i].module))) &&
            frame_name_has(name, waits[i].function))
            return waits[i].kind;
    return SPIN_NONE;
}

/* What MPI and UCX do for a message, while nobody waits: copies, and reductions.  Source: Open MPI
 * opal/datatype, ompi/mca/op; UCX src/ucs/arch. */
static bool is_work_of_messages(const struct shown_frame *f)
{
    static const char *const parts[] = {"_pack",    "_unpack",      "convertor", "memcpy",
                                        "_op_base", "copy_content", NULL};
    return !f->nameless && str_has_any(f->name, parts);
}

struct spin_marks spinning_marks(const struct shown_frame *f)
{
    struct spin_marks marks = {0};
    if (f->kind != SHOWN_NATIVE || f->guessed || f->interpreter)
        return marks;
    if (!f->nameless)
        marks.waits = wait_of(f);
    if (marks.waits)
        marks.within = (uint16_t)(1U << marks.waits);
    if (f->libc && is_asked_again(f))
        marks.within = UINT16_MAX;
    for (int kind = SPIN_NONE + 1; kind < SPIN_KINDS; kind++) {
        bool listed = f->module && str_starts_any(f->module, kinds[kind].modules);
        if (listed || (!f->nameless && str_starts_any(f->name, kinds[kind].names)))
            marks.within |= (uint16_t)(1U << kind);
        if (listed && kinds[kind].workers)
            marks.module = (enum spin_kind)kind;
        if (f->module && str_starts_any(f->module, kinds[kind].yielding))
            marks.yields = (enum spin_kind)kind;
    }
    if (is_work_of_messages(f))
        marks.within &= (uint16_t) ~(1U << SPIN_MPI | 1U << SPIN_UCX);
    return marks;
}

enum spin_kind spinning_of(const struct shown_frame *stack, size_t n)
{
    enum spin_kind found = SPIN_NONE;
    enum spin_kind module = SPIN_NONE;
    unsigned within = UINT16_MAX; /* the waits to which all that stands inside belongs */
    for (; n && within; n--) {
        const struct spin_marks *m = &stack[n - 1].spin;
        if (m->waits && within >> m->waits & 1)
            found = m->waits;
        else if (m->yields && found == SPIN_YIELD)
            found = m->yields;
        if (m->module)
            module = m->module;
        within &= m->within;
    }
    return !n && module && within >> module & 1 ? module : found;
}

const char *spinning_name(enum spin_kind kind)
{
    return kinds[kind].name;
}

const char *spinning_words(enum spin_kind kind)
{
    return kinds[kind].words;
}

const char *spinning_remedy(enum spin_kind kind)
{
    return kinds[kind].remedy;
}
