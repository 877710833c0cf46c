/* The asyncio tasks of a recorded process as they are now: the functions of each, and its wait.
 * For a dump, and for worker/task_watch.h. */
#pragma once

#include "profile/profile.h"
#include "pyframes/py_await.h"
#include "worker/process_set.h"

struct listed_task {
    process_id process;
    uint64_t thread_state; /* of the thread that runs its event loop; 0: none does */
    string_id name;        /* none: unknown */
    stack_id stack;        /* its coroutine, the coroutine that it awaits, …: outermost first */
    enum py_task_does does;
    enum py_awaited awaits;
    bool cut;               /* it awaits more than STACK has */
    bool serves;            /* the outermost function's first argument is a StreamReader */
    uint64_t owner;         /* the first argument of the innermost function: `self` */
    string_id type;         /* of OWNER, or of what it awaits if STACK is empty; none: unknown */
    uint64_t task, awaited; /* addresses */
};
/* Is TASK, which may be none, to be read? */
typedef bool task_wanted(void *ctx, const struct py_awaits *w, uint64_t task);
struct task_list {       /* zero-initialise */
    task_wanted *wanted; /* NULL: all are */
    void *wanted_ctx;
    bool nameless;      /* their names are not wanted */
    int64_t longest_ns; /* to read one process's; 0: 2 s */
    struct listed_task *items;
    size_t n, capacity;
    size_t n_moved; /* tasks that moved on while they were read, and so are left out */
    size_t n_more;  /* processes that have more: PY_MAX_TASKS, or 2 s, were not enough for them */
};
/* Adds the tasks of all processes of SET that live. */
void task_list_add_process(struct task_list *list, struct target_process *s);
void task_list_add(struct task_list *list, const struct process_set *set);
void task_list_release(struct task_list *list);
