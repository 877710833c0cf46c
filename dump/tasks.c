#include "dump/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "dump/thread.h"
#include "summary/frame_role.h"

/* ---- reading ---- */

/* Of an object at ADDRESS of PROCESS: forked processes have objects at one address. */
static uint64_t key_of(process_id process, uint64_t address)
{
    return hash_u64(address) ^ hash_u64((uint64_t)process.ix << 1);
}

void dump_tasks_read(struct dump *d, const struct process_set *processes)
{
    task_list_add(&d->tasks, processes);
    for (size_t i = 0; i < d->tasks.n; i++) {
        const struct listed_task *t = &d->tasks.items[i];
        map_put(&d->tasks_by_address, key_of(t->process, t->task), i);
    }
}

static size_t thread_of(const struct dump *d, const struct listed_task *t)
{
    pid_t pid = profile_see_process(d->profile, t->process)->pid;
    const struct dump_thread *thread = dump_thread_of_state(d, pid, t->thread_state);
    return thread ? (size_t)(thread - d->threads) : SIZE_MAX;
}

void dump_tasks_link(struct dump *d)
{
    d->task_threads = xcalloc(d->tasks.n + 1, sizeof *d->task_threads);
    for (size_t i = 0; i < d->tasks.n; i++) {
        const struct listed_task *t = &d->tasks.items[i];
        const struct listed_task *before = i ? t - 1 : NULL;
        bool same = before && before->thread_state == t->thread_state &&
                    before->process.ix == t->process.ix;
        d->task_threads[i] = same ? d->task_threads[i - 1] : thread_of(d, t);
    }
}

void dump_tasks_release(struct dump *d)
{
    task_list_release(&d->tasks);
    map_release(&d->tasks_by_address);
    free(d->task_threads);
}

/* ---- what they wait for ---- */

/* The waits of asyncio's functions, by the beginning of their names; the first that fits. */
static const struct {
    const char *function, *kind;
} kinds[] = {
    {"Queue.", "queue"},
    {"Lock.", "lock"},
    {"Event.", "event"},
    {"Condition.", "condition"},
    {"Barrier.", "barrier"},
    {"Semaphore.", "semaphore"},
    {"StreamReader", "stream"},
    {"StreamWriter.", "stream"},
    {"FlowControlMixin.", "stream"},
    {"BaseSelectorEventLoop.sock", "socket"},
    {"TaskGroup.", "tasks"},
    {"to_thread", "thread"},
    {"Server.", "server"},
    {"Process.", "process"},
    {"sleep", "sleep"},
    {"wait", "tasks"},
};

static const char *kind_of_function(const char *name)
{
    if (str_starts(name, "wait_for")) /* its time-out says nothing of what it waits for */
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_starts(name, kinds[i].function))
            return kinds[i].kind;
    return NULL;
}

const struct listed_task *dump_task_awaited(const struct dump *d, const struct listed_task *t)
{
    uint64_t at = 0;
    if (t->does != PY_TASK_WAITS || t->awaits != PY_AWAITS_TASK ||
        !map_get(&d->tasks_by_address, key_of(t->process, t->awaited), &at))
        return NULL;
    const struct listed_task *other = &d->tasks.items[at];
    return other->process.ix == t->process.ix ? other : NULL;
}

const char *dump_task_kind(struct dump *d, const struct listed_task *t)
{
    size_t n = 0;
    if (t->does != PY_TASK_WAITS)
        return NULL;
    const struct shown_frame *stack = view_stack(d->view, spot_of_stack(t->stack), &n);
    const char *kind = NULL; /* of the outermost of asyncio's functions that has one */
    for (; n && frame_is_asyncio(&stack[n - 1]); n--) {
        const char *outer = kind_of_function(stack[n - 1].name);
        kind = outer ? outer : kind;
    }
    static const char *const others[] = {[PY_AWAITS_OTHER] = "other",
                                         [PY_AWAITS_FUTURE] = "future",
                                         [PY_AWAITS_TASK] = "task",
                                         [PY_AWAITS_GATHER] = "gather",
                                         [PY_AWAITS_THREAD] = "thread"};
    return kind ? kind : others[t->awaits];
}

const char *dump_task_method(struct dump *d, const struct listed_task *t)
{
    size_t n = 0;
    if (t->does != PY_TASK_WAITS)
        return NULL;
    const struct shown_frame *stack = view_stack(d->view, spot_of_stack(t->stack), &n);
    if (n == 0 || !frame_is_asyncio(&stack[n - 1]) || !strchr(stack[n - 1].name, '.'))
        return NULL;
    return stack[n - 1].name;
}
