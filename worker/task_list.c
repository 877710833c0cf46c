#include "worker/task_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

/* A hostile process's chains and lists could keep us for minutes. */
static const int64_t default_longest_ns = INT64_C(2) * NS_PER_S;

/* Reads the tasks of one process. */
struct task_reading {
    struct target_process *process;
    struct py_awaits *awaits;
    struct py_loop loops[PY_MAX_LOOPS];
    size_t n_loops;
    uint64_t *tasks;
    size_t n;
    struct py_await await;
};

static stack_id stack_of(struct task_reading *r)
{
    const struct py_await *a = &r->await;
    struct py_codes *codes = r->process->python->codes;
    struct py_stack frames = {.frames = r->await.frames, .n = a->n, .capacity = PY_MAX_AWAITS};
    stack_id stack = {0};
    py_codes_check(codes, r->process->live, clock_now_ns(), &frames);
    for (size_t i = 0; i < a->n; i++) {
        frame_id frame;
        bool hidden = false;
        (void)py_code_resolve(codes, r->process->live, &a->frames[i], &frame, &hidden);
        if (!hidden)
            stack = profile_push(r->process->profile, stack, frame);
    }
    return stack;
}

static uint64_t thread_of(const struct task_reading *r, uint64_t loop)
{
    for (size_t i = 0; i < r->n_loops; i++)
        if (r->loops[i].addr == loop)
            return r->loops[i].thread_state;
    return 0;
}

static string_id name_of(const struct task_reading *r, uint64_t task)
{
    struct text name = {0};
    string_id ret = {0};
    if (py_task_name_read(r->awaits, task, &name) == 0 && name.len)
        ret = profile_string(r->process->profile, name.s);
    text_release(&name);
    return ret;
}

/* asyncio.start_server() gives each client's task the connection's reader. */
static bool serves_client(const struct task_reading *r)
{
    char type[PY_TYPE_BYTES];
    return r->await.n && r->await.owners[0] &&
           str_eq(py_type_name(r->awaits, r->await.owners[0], type), "StreamReader");
}

static void add_task(struct task_list *list, struct task_reading *r, uint64_t task)
{
    const struct py_await *a = &r->await;
    int error = py_await_read(r->awaits, task, &r->await);
    if (error < 0) {
        list->n_moved += error == -EAGAIN;
        return;
    }
    char type[PY_TYPE_BYTES];
    uint64_t owner = a->n ? a->owners[a->n - 1] : 0;
    (void)py_type_name(r->awaits, owner ? owner : a->awaited, type);
    list->items = array_reserve(list->items, &list->capacity, list->n + 1, sizeof *list->items);
    list->items[list->n++] = (struct listed_task){
        .process = r->process->id,
        .thread_state = thread_of(r, a->loop),
        .name = list->nameless ? (string_id){0} : name_of(r, task),
        .stack = stack_of(r),
        .does = a->does,
        .awaits = a->awaits,
        .cut = a->cut,
        .serves = serves_client(r),
        .owner = owner,
        .type = type[0] ? profile_string(r->process->profile, type) : (string_id){0},
        .task = task,
        .awaited = a->awaited,
    };
}

void task_list_add_process(struct task_list *list, struct target_process *s)
{
    struct task_reading r = {.process = s};
    bool more = false;
    if (!s->python)
        return;
    if (py_awaits_new(&r.awaits, s->python->runtime, s->modules, s->live) < 0)
        return;
    r.tasks = xcalloc(PY_MAX_TASKS, sizeof *r.tasks);
    r.n = py_awaits_tasks(r.awaits, r.tasks, &more);
    r.n_loops = r.n ? py_awaits_loops(r.awaits, r.loops) : 0;
    int64_t end_ns = clock_now_ns() + (list->longest_ns ? list->longest_ns : default_longest_ns);
    for (size_t i = 0; i < r.n; i++) {
        if (clock_now_ns() > end_ns) {
            more = true;
            break;
        }
        if (!list->wanted || list->wanted(list->wanted_ctx, r.awaits, r.tasks[i]))
            add_task(list, &r, r.tasks[i]);
    }
    list->n_more += more;
    py_awaits_free(r.awaits);
    free(r.tasks);
}

void task_list_add(struct task_list *list, const struct process_set *set)
{
    for (size_t i = 0; i < set->n_alive; i++)
        task_list_add_process(list, set->alive[i]);
}

void task_list_release(struct task_list *list)
{
    free(list->items);
    *list = (struct task_list){0};
}
