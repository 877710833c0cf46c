#include "cli/dumped.h"

const char *dumped_state(const struct dumped *d)
{
    switch (d->state) {
    case THREAD_RUNNABLE:
        return "runnable";
    case THREAD_BLOCKED:
        return "blocked";
    case THREAD_STOPPED:
        return "stopped";
    case THREAD_RUNNING:
    case THREAD_RUNNING_OR_RUNNABLE:
        break;
    }
    return "running";
}

const struct dumped *dumped_gil_holder(const struct dump *d, const struct dumped *t)
{
    for (size_t i = 0; t->gil.holder != 0 && i < d->n; i++) {
        const struct dumped *other = &d->threads[i];
        for (size_t j = 0; other->pid == t->pid && j < SNAPSHOT_ANNEX_WORDS; j++)
            if (other->python_threads[j] == t->gil.holder)
                return other;
    }
    return NULL;
}
