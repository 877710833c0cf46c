#include "summary/spinning.h"

#include "base/text.h"
#include "summary/known.h"
#include "summary/view.h"

const char spinning_file[] = "[on-cpu]";
const char *const spinning_keys[SPIN_KINDS] = {
    [SPIN_GPU] = "gpu",     [SPIN_NCCL] = "nccl", [SPIN_OPENMP] = "openmp",
    [SPIN_TBB] = "tbb",     [SPIN_BLAS] = "blas", [SPIN_OPENMP_LOCK] = "openmp-lock",
    [SPIN_UCX] = "ucx",     [SPIN_MPI] = "mpi",   [SPIN_LOCK] = "lock",
    [SPIN_YIELD] = "yield",
};

/* The waits, whose functions, and whose libraries' own code, known.def has. */
static const struct {
    const char *name, *words, *remedy;
    bool workers; /* a thread of nothing but its modules waits for work, whatever is stripped */
    const char *asleep, *meaning;
} kinds[SPIN_KINDS] = {
    [SPIN_GPU] =
        {"[spinning: waits for GPU]", "for the GPU",
         "cudaDeviceScheduleBlockingSync lets it sleep meanwhile.", false, "[waits for GPU]",
         "It waits for what was queued for the GPU before: nsys, rocprof or torch.profiler "
         "shows what takes that time."},
    [SPIN_NCCL] = {"[spinning: NCCL progress]", "for messages of NCCL", "", false},
    [SPIN_OPENMP] = {"[spinning: OpenMP barrier]", "at OpenMP barriers",
                     "OMP_WAIT_POLICY=passive lets its threads sleep.", true},
    [SPIN_OPENMP_LOCK] = {"[spinning: OpenMP lock]", "for OpenMP locks",
                          "A sum of each thread's own (reduction) or an atomic update needs no "
                          "critical section.",
                          false},
    [SPIN_TBB] = {"[spinning: TBB waits for tasks]", "for tasks of TBB", "", true},
    [SPIN_BLAS] = {"[spinning: BLAS worker]", "for work of BLAS",
                   "OPENBLAS_THREAD_TIMEOUT=4 lets it sleep sooner; small matrices are quicker "
                   "without it (OPENBLAS_NUM_THREADS=1).",
                   false},
    [SPIN_UCX] = {"[spinning: UCX progress]", "for messages of UCX", "", false},
    [SPIN_MPI] = {"[spinning: MPI progress]", "for messages of MPI", "", false},
    [SPIN_LOCK] = {"[spinning: spin lock]", "for spin locks",
                   "A mutex lets it sleep; a spin lock wants a CPU for each thread.", false},
    [SPIN_YIELD] = {"[spinning: sched_yield]", "in sched_yield",
                    "A condition variable or a futex would let it sleep.", false},
};

static enum spin_kind wait_of(const struct shown_frame *f)
{
    const struct known_row *row = known_row_of(f, KNOWN_SPIN);
    return row ? (enum spin_kind)row->spin : SPIN_NONE;
}

/* All other functions of the C library do work. */
static bool is_asked_again(const struct shown_frame *f)
{
    return f->libc && (f->entry || known_does(f, DOES_ASK_AGAIN));
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
    if (is_asked_again(f))
        marks.within = UINT16_MAX;
    const struct known_row *yields = known_row_of(f, KNOWN_YIELDS);
    if (yields)
        marks.yields = (enum spin_kind)yields->yields;
    if (f->known)
        marks.within |= (uint16_t)f->known->within;
    for (int kind = SPIN_NONE + 1; f->known && kind < SPIN_KINDS; kind++)
        if (kinds[kind].workers && f->known->module_within >> kind & 1)
            marks.module = (enum spin_kind)kind;
    if (known_does(f, DOES_COPY_MESSAGE))
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

enum spin_kind spinning_asleep(const struct shown_frame *stack, size_t n)
{
    while (n && stack[n - 1].kind == SHOWN_NATIVE && stack[n - 1].libc)
        n--; /* the calls by which it sleeps */
    enum spin_kind kind = spinning_of(stack, n);
    return kinds[kind].asleep ? kind : SPIN_NONE;
}

const char *spinning_name(enum spin_kind kind)
{
    return kinds[kind].name;
}

const char *spinning_words(enum spin_kind kind)
{
    return kinds[kind].words;
}

const char *spinning_asleep_name(enum spin_kind kind)
{
    return kinds[kind].asleep;
}

const char *spinning_meaning(enum spin_kind kind)
{
    return kinds[kind].meaning ? kinds[kind].meaning : "";
}

const char *spinning_remedy(enum spin_kind kind)
{
    return kinds[kind].remedy;
}
