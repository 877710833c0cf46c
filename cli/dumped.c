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
