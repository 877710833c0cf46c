#include "summary/openmp.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"

/* The library that T begins in, if that is a runtime of OpenMP; NULL: it is not, as a thread that
 * begins in Python.  A stack that was cut begins in a mark: it does not say. */
static const char *library_of(struct view *v, const struct profile_thread *t)
{
    for (size_t i = 0; i < t->n_runs; i++) {
        size_t n;
        const struct shown_frame *stack = view_stack(v, t->runs[i].at, &n);
        while (n && stack->entry) {
            stack++;
            n--;
        }
        if (n && stack->kind == SHOWN_PYTHON)
            return NULL;
        if (n && stack->kind == SHOWN_NATIVE && !stack->guessed)
            return stack->spin.module == SPIN_OPENMP ? stack->module : NULL;
    }
    return NULL;
}

static struct openmp_pool *pool_of(struct openmp_pools *o, process_id process, const char *library)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->items[i].process.ix == process.ix && str_eq(o->items[i].library, library))
            return &o->items[i];
    o->items = array_reserve(o->items, &o->capacity, o->n + 1, sizeof *o->items);
    o->items[o->n] = (struct openmp_pool){.process = process, .library = library};
    return &o->items[o->n++];
}

/* Of the thread's CPU time the part in which samples found it spinning. */
static int64_t spin_ns(struct view *v, const struct profile_thread *t)
{
    int64_t ns = 0;
    for (size_t i = 0; i < t->n_runs; i++) {
        size_t n;
        const struct shown_frame *stack = view_stack(v, t->runs[i].at, &n);
        bool spins = n && stack[n - 1].kind == SHOWN_WAIT && stack[n - 1].wait == WAIT_NONE;
        ns += spins ? run_weight(&t->runs[i], WEIGHT_CPU) : 0;
    }
    return ns;
}

void openmp_pools_init(struct openmp_pools *o, const struct thread_summaries *s, struct view *v)
{
    *o = (struct openmp_pools){0};
    for (size_t i = 0; i < s->n; i++) {
        const struct profile_thread *t = s->threads[i].thread;
        const char *library = library_of(v, t);
        if (!library)
            continue;
        struct openmp_pool *pool = pool_of(o, t->process, library);
        pool->threads += s->threads[i].n_threads;
        pool->cpu_ns += t->counts.ns[COUNTED_CPU];
        pool->wait_cpu_ns += t->counts.ns[COUNTED_RUNQUEUE];
        pool->spin_ns += spin_ns(v, t);
    }
}

void openmp_pools_release(struct openmp_pools *o)
{
    free(o->items);
    *o = (struct openmp_pools){0};
}
