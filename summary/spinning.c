#include "summary/spinning.h"

#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/known.h"
#include "summary/view.h"

const char spinning_file[] = "[on-cpu]";

enum { MAX_LISTED = 16 };

/* The waits, whose functions known.def has.  MODULES and NAMES, each a beginning, are what may
 * stand inside of the waiting function: the library's own code. */
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
    const struct known_row *row = known_row_of(f, KNOWN_SPIN);
    if (f->libc && str_eq(frame_libc_name(f->name), "sched_yield"))
        return SPIN_YIELD;
    return row ? (enum spin_kind)row->spin : SPIN_NONE;
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
