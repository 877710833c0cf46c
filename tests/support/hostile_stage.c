#include "tests/support/hostile_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/dump_label.h"
#include "dump/thread.h"
#include "worker/recording_metadata.h"

/* No process has these pids: they are above the kernel's largest. */
enum { FIRST_PID = 5000001, SECOND_PID, THIRD_PID, SAMPLES = 300, FIRST_LINE = 7 };
static const int64_t run_ns = INT64_C(3) * NS_PER_S;

static bool distinct_names;

static void add_next(struct hostile_stage *s, struct text *out)
{
    size_t start = out->len;
    if (distinct_names)
        text_addf(out, "%c%c", 'b' + (int)(s->used / 20 % 20), 'b' + (int)(s->used % 20));
    text_add(out, s->names[s->used++ % s->n_names]);
    for (size_t i = start; distinct_names && i < out->len; i++)
        if (out->s[i] == '/')
            out->s[i] = ':';
}

/* The next name between BEFORE and AFTER. */
static string_id next(struct hostile_stage *s, const char *before, const char *after)
{
    struct text name = {0};
    text_add(&name, before);
    add_next(s, &name);
    text_add(&name, after);
    string_id id = profile_string(s->p, name.s);
    text_release(&name);
    return id;
}

/* As the worker keeps a process's name in the words on the other side: the kernel's 15 bytes, made
 * plain. */
static string_id next_comm(struct hostile_stage *s)
{
    enum { COMM_BYTES = 15 };
    struct text tame = {0};
    text_add(&tame, "");
    const char *name = profile_text(s->p, next(s, "", ""));
    text_add_tame(&tame, name, strnlen(name, COMM_BYTES));
    string_id id = profile_string(s->p, tame.s);
    text_release(&tame);
    return id;
}

static string_id next_path(struct hostile_stage *s)
{
    struct text tame = {0};
    text_add(&tame, "/");
    const char *name = profile_text(s->p, next(s, "", ""));
    text_add_tame(&tame, name, strlen(name));
    string_id id = profile_string(s->p, tame.s);
    text_release(&tame);
    return id;
}

static frame_id python(struct hostile_stage *s)
{
    struct func func = {next(s, "", ""), next(s, "/src/", ".py"), FIRST_LINE};
    struct frame f = {.kind = FRAME_PYTHON, .python.line = FIRST_LINE + 1};
    f.python.func = profile_func(s->p, &func);
    return profile_frame(s->p, &f);
}

static frame_id native(struct hostile_stage *s)
{
    struct profile_module m = {.bias = 0x10000, .path = next(s, "/opt/", "")};
    struct location at = {.function = next(s, "", ""), .line = FIRST_LINE};
    struct frame f = {.kind = FRAME_NATIVE, .native.offset = 16 * s->used};
    at.file = next(s, "/build/", ".c");
    f.native.module = profile_module(s->p, &m);
    frame_id id = profile_frame(s->p, &f);
    profile_locate(s->p, id, &at, 1);
    return id;
}

static stack_id calls(struct hostile_stage *s)
{
    stack_id stack = profile_push(s->p, (stack_id){0}, python(s));
    stack = profile_push(s->p, stack, python(s));
    return profile_push(s->p, stack, native(s));
}

static void add_process(struct hostile_stage *s, pid_t pid, const char *rank)
{
    struct profile_process process = {.pid = pid, .comm = next(s, "", "")};
    struct text environment = {0};
    struct text variable = {0};
    text_add(&variable, "OMP_PLACES=");
    add_next(s, &variable);
    metadata_add_variable(&environment, variable.s);
    if (*rank)
        metadata_add_variable(&environment, rank);
    process.environment = profile_string(s->p, environment.s);
    process.title = next(s, "", "");
    process.command = next(s, "", "");
    process.allocator = next(s, "", "");
    process.python_version = profile_string(s->p, "3.11.2");
    text_release(&variable);
    text_release(&environment);
    s->process = profile_process(s->p, &process);
}

/* A thread that spends all its time AT. */
static struct dump_thread *add_thread(struct hostile_stage *s, struct spot at, enum run_state state)
{
    pid_t pid = profile_see_process(s->p, s->process)->pid;
    struct dump_thread *d = &s->threads[s->dump.n];
    bool main = s->dump.n == 0 || d[-1].pid != pid;
    pid_t tid = main ? pid : pid + 100 * (pid_t)s->dump.n;
    thread_id id = profile_thread(s->p, s->process, tid, next(s, "", ""), 0);
    struct profile_thread *t = profile_get_thread(s->p, id);
    struct run run = {.at = at, .state = state, .samples = SAMPLES};
    run.weights.wall_ns = run_ns;
    t->main = main;
    t->counts.ns[state == RUN_RUNNING    ? COUNTED_CPU
                 : state == RUN_RUNNABLE ? COUNTED_RUNQUEUE
                                         : COUNTED_OFF_CPU] = run.weights.wall_ns;
    profile_add_run(s->p, id, &run);
    *d = (struct dump_thread){.thread = id,
                              .pid = pid,
                              .tid = tid,
                              .sampled = true,
                              .complete = true,
                              .at = at,
                              .counted = true,
                              .syscall = -2,
                              .gil.gil = PY_GIL_ABSENT,
                              .state = state == RUN_RUNNING    ? THREAD_RUNNING
                                       : state == RUN_RUNNABLE ? THREAD_RUNNABLE
                                                               : THREAD_BLOCKED};
    s->dump.n++;
    return d;
}

/* A thread that waits so, in a stack of its own. */
static struct dump_thread *add_waiter(struct hostile_stage *s, struct wait wait)
{
    struct spot at = {calls(s), profile_wait(s->p, &wait)};
    struct dump_thread *d = add_thread(s, at, RUN_BLOCKED);
    d->side = wait.side;
    d->object = xstrdup(profile_text(s->p, wait.object));
    (void)snprintf(d->wchan, sizeof d->wchan, "%s", profile_text(s->p, next(s, "", "")));
    return d;
}

static struct wait call(struct hostile_stage *s, const char *name, enum wait_thing thing)
{
    return (struct wait){
        .kind = WAIT_CALL, .call = profile_string(s->p, name), .side = {.thing = thing}};
}

static void add_file_waiters(struct hostile_stage *s)
{
    struct wait wait = call(s, "read", THING_UNKNOWN);
    struct profile_mount mount = {.point = next(s, "/mnt/", ""), .type = next(s, "", "")};
    mount.source = next(s, "", "");
    wait.mount = profile_mount(s->p, &mount);
    wait.object = next(s, profile_text(s->p, mount.point), "");
    (void)add_waiter(s, wait);
    wait = call(s, "write", THING_UNKNOWN);
    wait.object = next(s, "/", "");
    (void)add_waiter(s, wait);
}

static struct blocker process(pid_t pid, string_id name)
{
    return (struct blocker){.kind = BLOCKER_PROCESS, .pid = pid, .name = name, .n = 1};
}

static void add_peer_waiters(struct hostile_stage *s)
{
    struct wait wait = call(s, "wait4", THING_CHILD);
    wait.side.blocker = process(FIRST_PID + 1000, next_comm(s));
    wait.side.blocker.fate = FATE_STOPPED;
    (void)add_waiter(s, wait);
    wait = call(s, "read", THING_PIPE);
    wait.object = profile_string(s->p, "pipe");
    wait.side.blocker = (struct blocker){.kind = BLOCKER_SEVERAL, .n = 2};
    for (pid_t pid = 8; pid >= 7; pid--) {
        const struct blocker one = process(pid, next_comm(s));
        wait.side.list = profile_list_blocker(s->p, &one, wait.side.list);
    }
    (void)add_waiter(s, wait);
    wait = call(s, "recvfrom", THING_SOCKET);
    wait.object = profile_string(s->p, "socket");
    wait.side.blocker = process(FIRST_PID + 1000, next_comm(s));
    wait.side.blocker.net = NET_UNIX;
    wait.side.blocker.host = next_path(s);
    (void)add_waiter(s, wait);
    wait = call(s, "epoll_wait", THING_EVENTS);
    struct blocker event = process(7, next_comm(s));
    event.thing = THING_PIPE;
    wait.side.list = profile_list_blocker(s->p, &event, wait.side.list);
    event = (struct blocker){.thing = THING_FILE, .name = next_path(s), .n = 1};
    wait.side.list = profile_list_blocker(s->p, &event, wait.side.list);
    (void)add_waiter(s, wait);
}

/* Two threads that wait for each other's locks, and both locks have names. */
static void add_circle(struct hostile_stage *s)
{
    struct dump_thread *first = &s->threads[s->dump.n];
    for (uint64_t i = 0; i < 2; i++) {
        struct wait wait = call(s, "futex", THING_PY_LOCK);
        pid_t pid = first[0].pid ? first[0].pid : profile_see_process(s->p, s->process)->pid;
        wait.side.blocker =
            (struct blocker){.kind = BLOCKER_THREAD,
                             .pid = pid,
                             .tid = pid + 100 * (pid_t)(i ? s->dump.n - 1 : s->dump.n + 1)};
        wait.side.addr = 0x5000 + i;
        const char *name = profile_text(s->p, next(s, "", ""));
        struct text lock = {0};
        text_add(&lock, "");
        text_add_tame(&lock, name, strlen(name));
        profile_name_lock(s->p, pid, wait.side.addr, lock.s);
        text_release(&lock);
        add_waiter(s, wait);
    }
}

static void add_tasks(struct hostile_stage *s)
{
    for (size_t i = 0; i < HOSTILE_TASKS; i++) {
        s->tasks[i] = (struct listed_task){.process = {1},
                                           .name = next(s, "", ""),
                                           .stack = calls(s),
                                           .does = PY_TASK_WAITS,
                                           .type = next(s, "", ""),
                                           .task = 0x1000 + i};
        s->task_threads[i] = i ? SIZE_MAX : 0;
    }
    s->dump.tasks = (struct task_list){.items = s->tasks, .n = HOSTILE_TASKS};
    s->dump.task_threads = s->task_threads;
}

static void add_facts(struct hostile_stage *s)
{
    struct profile_child child = {.pid = 2, .comm = next(s, "", ""), .cpu_ns = NS_PER_S};
    profile_set_children(s->p, (process_id){1}, &child, 1);
    struct profile_process *process = profile_get_process(s->p, (process_id){1});
    process->children_known = true;
    process->cpu_limits = (struct profile_cpu_limits){
        .known = true, .quota_cpus = 0.5, .quota_path = next(s, "/", ""), .throttled_ns = NS_PER_S};
    process->memory_limit =
        (struct profile_memory_limit){.limit_bytes = 1, .reached = 1, .path = next(s, "/", "")};
    profile_set_text(s->p, "host", profile_text(s->p, next(s, "", "")));
    *profile_get_host(s->p) =
        (struct profile_host){.over_ns = run_ns,
                              .cpus_online = 2,
                              .busiest = {.pid = 1, .comm = next(s, "", ""), .cpu_ns = NS_PER_S},
                              .machine = {.known = true, .governor = next(s, "", "")}};
}

static void link_dump(struct hostile_stage *s)
{
    struct dump *d = &s->dump;
    for (size_t i = 0; i < d->n; i++)
        wait_graph_add(&d->waits, d->threads[i].pid, d->threads[i].tid, &d->threads[i].side,
                       (uint32_t)i);
    wait_graph_link(&d->waits);
    d->deadlocks = calloc((size_t)d->waits.n_cycles + 1, sizeof *d->deadlocks);
    for (int i = 1; i <= d->waits.n_cycles; i++)
        d->deadlocks[i] = true;
    d->view = view_new(s->p, &(struct view_options){.whole = true});
    dump_label_threads(d);
}

void hostile_stage_init(struct hostile_stage *s, const char *const *names, size_t n, bool distinct)
{
    *s = (struct hostile_stage){.p = profile_new(0), .names = names, .n_names = n};
    s->dump = (struct dump){.profile = s->p, .threads = s->threads, .capacity = HOSTILE_THREADS};
    distinct_names = distinct;
    add_process(s, FIRST_PID, "");
    (void)add_thread(s, spot_of_stack(calls(s)), RUN_RUNNING);
    add_file_waiters(s);
    add_peer_waiters(s);
    add_circle(s);
    add_process(s, SECOND_PID, "RANK=0");
    frame_id truncated = profile_mark(s->p, "[truncated]", NULL);
    (void)add_thread(s, spot_of_stack(profile_push(s->p, calls(s), truncated)), RUN_RUNNING);
    add_process(s, THIRD_PID, "RANK=1");
    struct wait wait = {.kind = WAIT_CPU};
    (void)add_thread(s, (struct spot){calls(s), profile_wait(s->p, &wait)}, RUN_RUNNABLE);
    add_tasks(s);
    add_facts(s);
    profile_end(s->p, run_ns);
    link_dump(s);
}

void hostile_stage_release(struct hostile_stage *s)
{
    for (size_t i = 0; i < s->dump.n; i++)
        dump_thread_release(&s->threads[i]);
    wait_graph_release(&s->dump.waits);
    free(s->dump.deadlocks);
    view_free(s->dump.view);
    profile_free(s->p);
}
