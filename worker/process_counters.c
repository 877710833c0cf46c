#include "worker/process_counters.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/duty_cycle.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "target/cgroup_memory.h"
#include "target/cpu_quota.h"
#include "target/host.h"
#include "target/net_counters.h"
#include "target/proc.h"
#include "target/process_list.h"
#include "target/scheduling.h"
#include "worker/children.h"
#include "worker/machine_environment.h"
#include "worker/task_watch.h"

enum {
    SHARE = 600,       /* one part of the time is for looks at the recorded processes */
    LIST_SHARE = 500,  /* one for looks at all processes */
    TASKS_SHARE = 500, /* one for looks at asyncio's tasks */
    TASKS_EVERY_NS = 2 * NS_PER_S,
    MOST_PROCESSES = 4096,
    LONGEST_LIST_NS = 30 * NS_PER_MS,
    LIST_EVERY_NS = 1500 * NS_PER_MS, /* a command that was just launched has no children yet */
};

/* One process.  The last values stay where no new ones can be read. */
struct watched_process {
    struct target_process *process;
    int64_t first_ns, last_ns;
    struct task_stat first, last;
    struct cpu_quota *quota;
    struct cgroup_memory *memory;
    struct scheduling scheduling;
    bool scheduling_known;
    int64_t swapped_first, swapped_last; /* −1: not known */
    struct net_counters net_first, net_last;
    bool net_known;
    bool over; /* the process has ended */
};

/* The machine's counters at one moment. */
struct machine_look {
    int64_t at_ns, own_ns;
    struct host_cpu cpu;
    struct host_state state;
};

struct process_counters {
    struct profile *profile;
    struct watched_process *watched; /* by the sampler's numbers of the processes */
    size_t n, watched_capacity, children_capacity;
    struct duty_cycle looking;
    int64_t first_ns;
    struct host_cpu first_host;
    struct host_state first_state;
    int64_t first_own_ns;
    bool is_paused;
    struct machine_look paused; /* when the present pause began */
    struct process_list before, now;
    struct duty_cycle listing;
    int64_t listed_ns;         /* when NOW was read; 0: not yet */
    uint64_t before_ticks;     /* when BEFORE was */
    struct children *children; /* of each process */
    struct task_watch tasks;   /* asyncio's */
    struct duty_cycle watching_tasks;
    struct map pids; /* of the recorded processes, as keys */
};

static int64_t own_cpu_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0
               ? (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec
               : 0;
}

static bool is_known(const struct watched_process *w)
{
    return w->first_ns;
}

/* ---- a look ---- */

/* Returns whether the process is there; one that has taken over its pid is not. */
static bool read_stat(struct watched_process *w)
{
    struct task_stat stat;
    if (proc_stat(w->process->pid, 0, &stat) < 0 ||
        (is_known(w) && stat.start_ticks != w->first.start_ticks))
        return false;
    w->last = stat;
    w->last_ns = clock_now_ns();
    return true;
}

/* The kernel does not show a zombie's group and CPUs. */
static bool has_ended(const struct watched_process *w)
{
    return w->last.state == 'Z' || w->last.state == 'X';
}

static void look_at_swap(struct watched_process *w)
{
    int64_t bytes = host_swapped_bytes(w->process->pid);
    if (bytes >= 0)
        w->swapped_last = bytes;
    if (w->swapped_first < 0)
        w->swapped_first = bytes;
}

static void look_at_net(struct watched_process *w)
{
    struct net_counters now;
    if (!net_counters_read(w->process->pid, &now))
        return;
    w->net_last = now;
    w->net_first = w->net_known ? w->net_first : now;
    w->net_known = true;
}

static void first_look(struct watched_process *w)
{
    w->swapped_first = w->swapped_last = -1;
    look_at_swap(w);
    look_at_net(w);
    w->quota = cpu_quota_new(w->process->pid);
    w->memory = cgroup_memory_new(w->process->pid);
    w->scheduling_known = scheduling_read(w->process->pid, &w->scheduling) == 0;
    if (!read_stat(w))
        return;
    w->first = w->last;
    w->first_ns = w->last_ns;
}

static void look_at_process(struct watched_process *w)
{
    if (w->over)
        return;
    cgroup_memory_look(w->memory);
    if (!is_known(w) || !read_stat(w) || has_ended(w)) {
        cpu_quota_read(w->quota);
        return;
    }
    look_at_swap(w);
    look_at_net(w);
    cpu_quota_look(w->quota, w->process->pid);
    if (scheduling_read(w->process->pid, &w->scheduling) == 0)
        w->scheduling_known = true;
}

void process_counters_add(struct process_counters *e, struct target_process *process)
{
    size_t i = e->n;
    e->watched = array_reserve(e->watched, &e->watched_capacity, i + 1, sizeof *e->watched);
    e->children = array_reserve(e->children, &e->children_capacity, i + 1, sizeof *e->children);
    e->watched[i] = (struct watched_process){.process = process};
    e->children[i] = (struct children){.pid = process->pid};
    first_look(&e->watched[i]);
    map_put(&e->pids, (uint64_t)process->pid, i);
    e->n++;
}

void process_counters_end(struct process_counters *e, size_t number)
{
    if (!e)
        return;
    e->watched[number].over = true;
    e->children[number].over = true;
}

struct process_counters *process_counters_new(struct profile *p,
                                              struct target_process *const *processes, size_t n)
{
    struct process_counters *e = xcalloc(1, sizeof *e);
    e->profile = p;
    for (size_t i = 0; i < n; i++)
        process_counters_add(e, processes[i]);
    e->first_state = host_state_read();
    e->first_host = host_cpu_read();
    e->first_own_ns = own_cpu_ns();
    e->first_ns = clock_now_ns();
    return e;
}

/* What is counted begins with this look. */
static void list_first(struct process_counters *e, uint64_t ticks)
{
    e->before_ticks = ticks;
    process_list_copy(&e->before, &e->now);
    for (size_t i = 0; i < e->n; i++)
        children_skip(&e->children[i]);
}

/* The first time when the sampling goes on already. */
static void list_processes(struct process_counters *e)
{
    if (!duty_cycle_begin(&e->listing))
        return;
    uint64_t ticks = process_list_ticks();
    process_list_read(&e->now, MOST_PROCESSES, LONGEST_LIST_NS);
    if (!e->listed_ns)
        list_first(e, ticks);
    children_look(e->children, e->n, &e->before, e->before_ticks, &e->now);
    duty_cycle_end(&e->listing, LIST_SHARE, 0);
    e->listed_ns = clock_now_ns();
}

/* The processes that may have tasks of asyncio's. */
static size_t count_pythons(const struct process_counters *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++)
        n += !e->watched[i].over && e->watched[i].process->python;
    return n;
}

static void look_at_tasks(struct process_counters *e)
{
    task_watch_begin(&e->tasks, count_pythons(e));
    for (size_t i = 0; i < e->n; i++)
        if (!e->watched[i].over)
            task_watch_look(&e->tasks, e->watched[i].process);
    task_watch_end(&e->tasks);
}

void process_counters_look(struct process_counters *e)
{
    if (!e)
        return;
    if (duty_cycle_begin(&e->watching_tasks)) {
        look_at_tasks(e);
        duty_cycle_end(&e->watching_tasks, TASKS_SHARE, TASKS_EVERY_NS);
    }
    if (!e->listed_ns || clock_now_ns() - e->listed_ns >= LIST_EVERY_NS)
        list_processes(e);
    if (!duty_cycle_begin(&e->looking))
        return;
    for (size_t i = 0; i < e->n; i++)
        look_at_process(&e->watched[i]);
    duty_cycle_end(&e->looking, SHARE, NS_PER_S);
}

static uint64_t since(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

/* ---- pauses ---- */

static struct machine_look look_at_machine(void)
{
    return (struct machine_look){clock_now_ns(), own_cpu_ns(), host_cpu_read(), host_state_read()};
}

void process_counters_pause(struct process_counters *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++)
        look_at_process(&e->watched[i]);
    list_processes(e);
    e->paused = look_at_machine();
    e->is_paused = true;
}

/* What counters of W have risen by since its last look is taken off them by a later first look. */
static void skip_watched(struct watched_process *w)
{
    struct watched_process before = *w;
    if (w->over || !is_known(w) || !read_stat(w))
        return;
    w->first_ns += w->last_ns - before.last_ns;
    w->first.user_ticks += since(before.last.user_ticks, w->last.user_ticks);
    w->first.system_ticks += since(before.last.system_ticks, w->last.system_ticks);
    w->first.minor_faults += since(before.last.minor_faults, w->last.minor_faults);
    w->first.major_faults += since(before.last.major_faults, w->last.major_faults);
    w->first.children_ticks += since(before.last.children_ticks, w->last.children_ticks);
    look_at_net(w);
    w->net_first.listen_overflows +=
        since(before.net_last.listen_overflows, w->net_last.listen_overflows);
    w->net_first.syn_repeats += since(before.net_last.syn_repeats, w->net_last.syn_repeats);
    cpu_quota_skip(w->quota, w->process->pid);
}

static void skip_pressure(struct host_pressure *first, const struct host_pressure *before,
                          const struct host_pressure *now)
{
    first->some_ns += max_i64(now->some_ns - before->some_ns, 0);
    first->full_ns += max_i64(now->full_ns - before->full_ns, 0);
}

static void skip_state(struct host_state *first, const struct host_state *before,
                       const struct host_state *now)
{
    const struct host_paging *was = &before->paging;
    const struct host_paging *is = &now->paging;
    skip_pressure(&first->cpu_pressure, &before->cpu_pressure, &now->cpu_pressure);
    skip_pressure(&first->memory_pressure, &before->memory_pressure, &now->memory_pressure);
    first->starts += since(before->starts, now->starts);
    first->paging.swap_ins += since(was->swap_ins, is->swap_ins);
    first->paging.swap_outs += since(was->swap_outs, is->swap_outs);
    first->paging.numa_marked += since(was->numa_marked, is->numa_marked);
    first->paging.numa_faults += since(was->numa_faults, is->numa_faults);
    first->paging.numa_faults_local += since(was->numa_faults_local, is->numa_faults_local);
    first->paging.numa_moved += since(was->numa_moved, is->numa_moved);
}

void process_counters_resume(struct process_counters *e)
{
    if (!e)
        return;
    const struct machine_look *before = &e->paused;
    struct machine_look now = look_at_machine();
    for (size_t i = 0; i < e->n; i++)
        skip_watched(&e->watched[i]);
    e->first_ns += now.at_ns - before->at_ns;
    e->first_own_ns += now.own_ns - before->own_ns;
    e->first_host.busy_ns += now.cpu.busy_ns - before->cpu.busy_ns;
    e->first_host.interrupts_ns += now.cpu.interrupts_ns - before->cpu.interrupts_ns;
    e->first_host.stolen_ns += now.cpu.stolen_ns - before->cpu.stolen_ns;
    skip_state(&e->first_state, &before->state, &now.state);
    e->listed_ns = 0;
    e->is_paused = false;
}

/* ---- into the profile ---- */

static void report_limits(const struct watched_process *w, struct profile *p)
{
    struct cpu_quota_facts quota = cpu_quota_facts(w->quota);
    string_id path = *quota.path ? profile_string(p, quota.path) : (string_id){0};
    profile_get_process(p, w->process->id)->cpu_limits = (struct profile_cpu_limits){
        .known = w->scheduling_known || quota.version,
        .cgroup_version = quota.version,
        .quota_cpus = quota.cpus,
        .quota_path = path,
        .quota_level = quota.level,
        .groups_hidden = quota.hidden,
        .periods = quota.periods,
        .throttled_periods = quota.throttled_periods,
        .throttled_ns = quota.throttled_ns,
        .throttled_above_ns = quota.throttled_above_ns,
        .cpus_main = w->scheduling.cpus_main,
        .cpus_any = w->scheduling.cpus_any,
        .threads_pinned = w->scheduling.threads_pinned,
        .nice = w->scheduling.nice,
        .policy = w->scheduling.policy,
    };
}

static void report_memory(const struct watched_process *w, struct profile *p)
{
    struct cgroup_memory_facts memory = cgroup_memory_facts(w->memory);
    string_id path = *memory.path ? profile_string(p, memory.path) : (string_id){0};
    profile_get_process(p, w->process->id)->memory_limit =
        (struct profile_memory_limit){.limit_bytes = memory.limit_bytes,
                                      .used_bytes = memory.used_bytes,
                                      .reached = memory.reached,
                                      .path = path};
}

static int64_t ticks_ns(uint64_t before, uint64_t now)
{
    return (int64_t)since(before, now) * (NS_PER_S / max_i64(sysconf(_SC_CLK_TCK), 1));
}

static void report_swap(const struct watched_process *w, struct profile *p)
{
    struct profile_process *process = profile_get_process(p, w->process->id);
    process->swapped_known = w->swapped_first >= 0;
    process->swapped_first = w->swapped_first;
    process->swapped_last = w->swapped_last;
}

static void report_net(const struct watched_process *w, struct profile *p)
{
    const struct net_counters *first = &w->net_first;
    const struct net_counters *last = &w->net_last;
    profile_get_process(p, w->process->id)->net = (struct profile_net){
        .known = w->net_known,
        .listen_overflows = since(first->listen_overflows, last->listen_overflows),
        .syn_repeats = since(first->syn_repeats, last->syn_repeats),
    };
}

static void report_usage(const struct watched_process *w, struct profile *p)
{
    struct profile_process *process = profile_get_process(p, w->process->id);
    process->usage = (struct profile_usage){
        .over_ns = w->last_ns - w->first_ns,
        .user_ns = ticks_ns(w->first.user_ticks, w->last.user_ticks),
        .system_ns = ticks_ns(w->first.system_ticks, w->last.system_ticks),
        .minor_faults = since(w->first.minor_faults, w->last.minor_faults),
        .major_faults = since(w->first.major_faults, w->last.major_faults),
    };
    process->threads = w->over || has_ended(w) ? 0 : w->last.threads;
    process->children_cpu_ns = ticks_ns(w->first.children_ticks, w->last.children_ticks);
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        bool own = t->process.ix == w->process->id.ix;
        if (!own)
            continue;
        process->usage.voluntary += t->usage.voluntary;
        process->usage.involuntary += t->usage.involuntary;
        process->usage.reads += t->usage.reads;
        process->usage.writes += t->usage.writes;
        process->usage.read_bytes += t->usage.read_bytes;
        process->usage.written_bytes += t->usage.written_bytes;
    }
}

static bool is_other(const struct process_counters *e, uint64_t pid)
{
    uint64_t unused;
    return pid != (uint64_t)getpid() && !map_get(&e->pids, pid, &unused);
}

static void find_busiest(const struct process_counters *e, struct profile_host *ret)
{
    size_t busiest = 0;
    int64_t most_ns = 0;
    for (size_t i = 0; i < e->now.n; i++) {
        int64_t ns = process_list_used_ns(&e->before, &e->now, i, e->before_ticks);
        if (ns <= most_ns || !is_other(e, e->now.items[i].pid))
            continue;
        most_ns = ns;
        busiest = i;
    }
    if (!most_ns)
        return;
    const struct listed_process *found = &e->now.items[busiest];
    ret->busiest = (struct profile_busy_process){.pid = (pid_t)found->pid,
                                                 .comm = profile_string(e->profile, found->comm),
                                                 .cpu_ns = most_ns};
}

/* Where it is too soon for another look the last one stands, and in a pause. */
static void report_neighbours(struct process_counters *e, struct profile_host *ret)
{
    if (!e->is_paused)
        list_processes(e);
    ret->processes_seen = (uint32_t)e->now.n;
    ret->all_processes_seen = e->before.whole && e->now.whole;
    if (ret->all_processes_seen)
        find_busiest(e, ret);
    for (size_t i = 0; i < e->n; i++) {
        const struct target_process *of = e->watched[i].process;
        struct profile_process *process = profile_get_process(e->profile, of->id);
        int64_t older_ns = children_older_ns(&e->children[i], &e->before, &e->now);
        process->children_cpu_ns = max_i64(process->children_cpu_ns - older_ns, 0);
        children_report(&e->children[i], e->profile, of->id, &e->pids);
    }
}

static int64_t recorded_ns(const struct process_counters *e)
{
    int64_t ns = 0;
    for (size_t i = 0; i < e->n; i++) {
        const struct profile_usage *u =
            &profile_see_process(e->profile, e->watched[i].process->id)->usage;
        ns += u->user_ns + u->system_ns;
    }
    return ns;
}

static void report_host(struct process_counters *e)
{
    const struct machine_look look = e->is_paused ? e->paused : look_at_machine();
    const struct host_cpu *now = &look.cpu;
    const struct host_cpu *first = &e->first_host;
    struct profile_host host = {
        .over_ns = look.at_ns - e->first_ns,
        .cpus_online = (uint32_t)max_i64(sysconf(_SC_NPROCESSORS_ONLN), 0),
        .busy_ns = max_i64(now->busy_ns - first->busy_ns, 0),
        .interrupts_ns = max_i64(now->interrupts_ns - first->interrupts_ns, 0),
        .stolen_ns = max_i64(now->stolen_ns - first->stolen_ns, 0),
        .wallspy_ns = max_i64(look.own_ns - e->first_own_ns, 0), /* less in a forked wallspy */
        .recorded_ns = recorded_ns(e),
    };
    host.others_ns = max_i64(host.busy_ns - host.wallspy_ns - host.recorded_ns, 0);
    host.machine = machine_environment(e->profile, &e->first_state, &look.state);
    report_neighbours(e, &host);
    *profile_get_host(e->profile) = host;
    profile_set_number(e->profile, METRIC_STOLEN_S, (double)host.stolen_ns / NS_PER_S);
}

static void report_tasks(struct process_counters *e)
{
    look_at_tasks(e);
    profile_forget_task_waits(e->profile);
    task_watch_report_begin(&e->tasks, count_pythons(e));
    for (size_t i = 0; i < e->n; i++)
        if (!e->watched[i].over)
            task_watch_report(&e->tasks, e->watched[i].process);
}

void process_counters_report(struct process_counters *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++) {
        if (!e->is_paused)
            look_at_process(&e->watched[i]);
        report_limits(&e->watched[i], e->profile);
        report_memory(&e->watched[i], e->profile);
        report_usage(&e->watched[i], e->profile);
        report_swap(&e->watched[i], e->profile);
        report_net(&e->watched[i], e->profile);
    }
    if (!e->is_paused) /* else what was told last stands: their memory is not read */
        report_tasks(e);
    report_host(e);
}

struct process_counters *process_counters_free(struct process_counters *e)
{
    if (!e)
        return NULL;
    for (size_t i = 0; i < e->n; i++) {
        cpu_quota_free(e->watched[i].quota);
        cgroup_memory_free(e->watched[i].memory);
    }
    for (size_t i = 0; i < e->n; i++)
        children_release(&e->children[i]);
    free(e->children);
    task_watch_release(&e->tasks);
    map_release(&e->pids);
    process_list_release(&e->before);
    process_list_release(&e->now);
    free(e->watched);
    free(e);
    return NULL;
}
