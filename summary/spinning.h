/* Does a running thread only wait?  Some libraries wait by asking again and again, which looks like
 * work: known by the functions that do so, in known.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spin_kind {
    SPIN_NONE,
    SPIN_GPU,
    SPIN_NCCL,
    SPIN_OPENMP,
    SPIN_OPENMP_LOCK,
    SPIN_TBB,
    SPIN_BLAS,
    SPIN_UCX,
    SPIN_MPI,
    SPIN_LOCK,
    SPIN_YIELD,
    SPIN_KINDS,
};

struct shown_frame;
extern const char spinning_file[]; /* of the leaves, where functions have their file */
/* "gpu": as known.def and dump --json have them; none of SPIN_NONE. */
extern const char *const spinning_keys[SPIN_KINDS];
/* A frame's part in a spinning wait, by its name and module alone: view.c keeps it with the
 * frame. */
struct spin_marks {
    enum spin_kind waits;  /* a function that waits, and for whom */
    enum spin_kind module; /* of the library whose threads have no other work, as OpenMP's */
    enum spin_kind yields; /* what sched_yield() waits for where the frame's library calls it */
    uint16_t within;       /* 1 << enum spin_kind: it belongs to those waits */
};
struct spin_marks spinning_marks(const struct shown_frame *f);
/* The wait in which STACK, outermost first and of a thread that may be running, spins.  SPIN_NONE
 * if code that belongs to no such wait stands in or below the waiting function. */
enum spin_kind spinning_of(const struct shown_frame *stack, size_t n);
/* The same wait, but asleep: STACK is of a blocked thread, without the leaf of its wait. */
enum spin_kind spinning_asleep(const struct shown_frame *stack, size_t n);
/* "[spinning: waits for GPU]" */
const char *spinning_name(enum spin_kind kind);
/* "[waits for GPU]"; NULL: of that kind the call that it sleeps in says as much. */
const char *spinning_asleep_name(enum spin_kind kind);
/* "for the GPU": behind "spins 97% of its CPU time" */
const char *spinning_words(enum spin_kind kind);
/* What the wait means, awake or asleep: a sentence; "": its words say it. */
const char *spinning_meaning(enum spin_kind kind);
/* A sentence on the way out of spinning; "": none is known. */
const char *spinning_remedy(enum spin_kind kind);
