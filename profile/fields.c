#include "profile/fields.h"

static const char *const frame_kinds[] = {"", "native", "python", "mark", NULL};
static const char *const wait_kinds[] = {"",          "call",    "cpu",     "gil",
                                         "page",      "stopped", "traced",  "not-permitted",
                                         "io-worker", "frozen",  "unknown", NULL};
static const char *const things[] = {"",        "mutex",      "rwlock",  "thread", "gil",
                                     "py-lock", "file-lock",  "child",   "pipe",   "socket",
                                     "events",  "descriptor", "file",    "epoll",  "eventfd",
                                     "timer",   "signals",    "inotify", NULL};
static const char *const blockers[] = {"",         "thread",  "process", "gone",
                                       "children", "several", "peer",    "client",
                                       "listener", "shared",  "itself",  NULL};
static const char *const nets[] = {"", "tcp", "udp", "unix", NULL};
const char *const field_fates[] = {"", "stopped", "ended", "main-ended", NULL};
const char *const field_queues[] = {
    "", "not-connected", "nothing-received", "not-all-read", "not-all-acknowledged", NULL};
static const char *const states[] = {
    "", "running", "runnable", "blocked", "stopped", "running-or-runnable", NULL};

#define HOST(member) FIELD(struct profile_host, member)
static const struct field host_keys[] = {
    HOST(over_ns),
    HOST(cpus_online),
    HOST(busy_ns),
    HOST(interrupts_ns),
    HOST(stolen_ns),
    HOST(wallspy_ns),
    HOST(recorded_ns),
    HOST(others_ns),
    HOST(busiest.pid),
    HOST(busiest.comm),
    HOST(busiest.cpu_ns),
    HOST(processes_seen),
    HOST(all_processes_seen),
    HOST(machine.known),
    HOST(machine.governor),
    HOST(machine.huge_pages),
    HOST(machine.huge_pages_defrag),
    HOST(machine.numa_nodes),
    HOST(machine.numa_balancing),
    HOST(machine.load_first),
    HOST(machine.load_last),
    HOST(machine.cpu_pressure.known),
    HOST(machine.cpu_pressure.some_ns),
    HOST(machine.cpu_pressure.full_ns),
    HOST(machine.memory_pressure.known),
    HOST(machine.memory_pressure.some_ns),
    HOST(machine.memory_pressure.full_ns),
    HOST(machine.starts_known),
    HOST(machine.starts),
    HOST(machine.swap_known),
    HOST(machine.numa_known),
    HOST(machine.swap_ins),
    HOST(machine.swap_outs),
    HOST(machine.numa_marked),
    HOST(machine.numa_faults),
    HOST(machine.numa_faults_local),
    HOST(machine.numa_moved),
};

static const struct field mount_keys[] = {
    FIELD(struct profile_mount, point),
    FIELD(struct profile_mount, type),
    FIELD(struct profile_mount, source),
    FIELD(struct profile_mount, served),
};
static const struct field module_keys[] = {
    FIELD(struct profile_module, name),     FIELD(struct profile_module, path),
    FIELD(struct profile_module, build_id), FIELD(struct profile_module, bias),
    FIELD(struct profile_module, file),
};
static const struct field func_keys[] = {
    FIELD(struct func, name),
    FIELD(struct func, file),
    FIELD(struct func, first_line),
};
static const struct field frame_keys[] = {
    FIELD_WORDS(struct frame, kind, frame_kinds),
    FIELD(struct frame, flags),
};
static const struct field native_keys[] = {
    FIELD_AS("module", struct frame, native.module),
    FIELD_AS("offset", struct frame, native.offset),
    FIELD_AS("function", struct frame, native.function),
    FIELD_AS("name", struct frame, native.name),
};
static const struct field python_keys[] = {
    FIELD_AS("func", struct frame, python.func),
    FIELD_AS("line", struct frame, python.line),
};
static const struct field mark_keys[] = {
    FIELD_AS("name", struct frame, mark.name),
    FIELD_AS("file", struct frame, mark.file),
};
static const struct field location_keys[] = {
    FIELD(struct location, function), FIELD(struct location, file),
    FIELD(struct location, line),     FIELD(struct location, function_line),
    FIELD(struct location, inlined),  FIELD(struct location, internal),
};

static const struct field wait_keys[] = {
    FIELD_WORDS(struct wait, kind, wait_kinds),
    FIELD(struct wait, call),
    FIELD(struct wait, object),
    FIELD(struct wait, mount),
    {"thing", offsetof(struct wait, side.thing), FIELD_WORD, things},
    FIELD_AS("address", struct wait, side.addr),
    FIELD_AS("timed", struct wait, side.timed),
    FIELD_AS("expired", struct wait, side.expired),
    FIELD_AS("inside", struct wait, side.inside),
    FIELD_AS("single", struct wait, side.single),
};
static const struct field wait_list_keys[] = {
    FIELD_AS("more", struct wait, side.more),
    FIELD_AS("at_least", struct wait, side.at_least),
};
#define BLOCKER(member) FIELD(struct blocker, member)
static const struct field blocker_keys[] = {
    FIELD_WORDS(struct blocker, kind, blockers),
    FIELD_WORDS(struct blocker, thing, things),
    BLOCKER(pid),
    BLOCKER(tid),
    BLOCKER(name),
    FIELD_WORDS(struct blocker, fate, field_fates),
    FIELD_WORDS(struct blocker, net, nets),
    BLOCKER(host),
    BLOCKER(port),
    BLOCKER(local_port),
    BLOCKER(n),
    FIELD_WORDS(struct blocker, queue, field_queues),
    BLOCKER(bytes),
    BLOCKER(inode),
    BLOCKER(offset),
    BLOCKER(fd),
};

#define PROCESS(member) FIELD(struct profile_process, member)
static const struct field process_keys[] = {
    PROCESS(pid),
    PROCESS(parent),
    PROCESS(command),
    PROCESS(comm),
    PROCESS(title),
    PROCESS(environment),
    PROCESS(allocator),
    PROCESS(openmp),
    PROCESS(python_version),
    PROCESS(python_note),
    PROCESS(cpu_limits.known),
    PROCESS(cpu_limits.cgroup_version),
    PROCESS(cpu_limits.quota_cpus),
    PROCESS(cpu_limits.quota_path),
    PROCESS(cpu_limits.quota_level),
    PROCESS(cpu_limits.groups_hidden),
    PROCESS(cpu_limits.periods),
    PROCESS(cpu_limits.throttled_periods),
    PROCESS(cpu_limits.throttled_ns),
    PROCESS(cpu_limits.throttled_above_ns),
    PROCESS(cpu_limits.cpus_main),
    PROCESS(cpu_limits.cpus_any),
    PROCESS(cpu_limits.threads_pinned),
    PROCESS(cpu_limits.nice),
    PROCESS(cpu_limits.policy),
    PROCESS(memory_limit.limit_bytes),
    PROCESS(memory_limit.used_bytes),
    PROCESS(memory_limit.reached),
    PROCESS(memory_limit.path),
    PROCESS(swapped_known),
    PROCESS(swapped_first),
    PROCESS(swapped_last),
    PROCESS(net.known),
    PROCESS(net.listen_overflows),
    PROCESS(net.syn_repeats),
    PROCESS(threads),
    PROCESS(usage.over_ns),
    PROCESS(usage.user_ns),
    PROCESS(usage.system_ns),
    PROCESS(usage.minor_faults),
    PROCESS(usage.major_faults),
    PROCESS(usage.voluntary),
    PROCESS(usage.involuntary),
    PROCESS(usage.reads),
    PROCESS(usage.writes),
    PROCESS(usage.read_bytes),
    PROCESS(usage.written_bytes),
    PROCESS(children_cpu_ns),
    PROCESS(children_known),
    PROCESS(children_seen),
};
static const struct field child_keys[] = {
    FIELD(struct profile_child, pid),           FIELD(struct profile_child, comm),
    FIELD(struct profile_child, cpu_ns),        FIELD(struct profile_child, recorded),
    FIELD(struct profile_child, came_and_went),
};

#define THREAD(member) FIELD(struct profile_thread, member)
static const struct field thread_keys[] = {
    THREAD(process),
    THREAD(tid),
    THREAD(name),
    THREAD(main),
    THREAD(python),
    THREAD(ended),
    THREAD(closed),
    THREAD(still_since_ns),
    THREAD(start_ns),
    THREAD(end_ns),
    FIELD_AS("cpu_ns", struct profile_thread, counts.ns[COUNTED_CPU]),
    FIELD_AS("runqueue_ns", struct profile_thread, counts.ns[COUNTED_RUNQUEUE]),
    FIELD_AS("off_cpu_ns", struct profile_thread, counts.ns[COUNTED_OFF_CPU]),
    THREAD(own_switches),
    THREAD(usage.over_ns),
    THREAD(usage.user_ns),
    THREAD(usage.system_ns),
    THREAD(usage.minor_faults),
    THREAD(usage.major_faults),
    THREAD(usage.voluntary),
    THREAD(usage.involuntary),
    THREAD(usage.reads),
    THREAD(usage.writes),
    THREAD(usage.read_bytes),
    THREAD(usage.written_bytes),
    THREAD(n_folded),
    THREAD(lived_ns),
};
static const struct field counts_keys[] = {
    FIELD(struct count_mark, at_ns),
    FIELD_AS("cpu_ns", struct count_mark, counts.ns[COUNTED_CPU]),
    FIELD_AS("runqueue_ns", struct count_mark, counts.ns[COUNTED_RUNQUEUE]),
    FIELD_AS("off_cpu_ns", struct count_mark, counts.ns[COUNTED_OFF_CPU]),
};
static const struct field run_start_keys[] = {
    FIELD_AS("start", struct run, start_ns),
};
static const struct field run_keys[] = {
    FIELD_AS("wall", struct run, weights.wall_ns),
    FIELD_WORDS(struct run, state, states),
    FIELD(struct run, samples),
    FIELD(struct run, waits),
    FIELD_AS("near_faults", struct run, weights.events.near_faults),
    FIELD_AS("around_faults", struct run, weights.events.around_faults),
    FIELD_AS("put_on_cpu", struct run, weights.events.put_on_cpu),
};
static const struct field lock_keys[] = {
    FIELD(struct lock_name, pid),
    FIELD_AS("address", struct lock_name, addr),
    FIELD(struct lock_name, name),
};
static const struct field listener_keys[] = {
    FIELD(struct listener, host), FIELD(struct listener, port), FIELD(struct listener, pid),
    FIELD(struct listener, name), FIELD(struct listener, n),    FIELD(struct listener, room),
};
/* Its stack is a key of its own. */
static const struct field tasks_keys[] = {
    FIELD(struct profile_task_wait, process),    FIELD(struct profile_task_wait, n),
    FIELD(struct profile_task_wait, more),       FIELD(struct profile_task_wait, least_ns),
    FIELD(struct profile_task_wait, of_clients), FIELD(struct profile_task_wait, of),
    FIELD(struct profile_task_wait, apart),      FIELD(struct profile_task_wait, for_thread),
    FIELD(struct profile_task_wait, for_future), FIELD(struct profile_task_wait, object),
};
static const struct field user_mark_keys[] = {
    FIELD(struct user_mark, at_ns),
    FIELD(struct user_mark, utc_ns),
    FIELD(struct user_mark, text),
};
static const struct field user_pause_keys[] = {
    FIELD(struct user_pause, at_ns),
    FIELD(struct user_pause, utc_ns),
    FIELD(struct user_pause, paused_ns),
};

#define ROW(keys)                                                                                  \
    {                                                                                              \
        keys, sizeof(keys) / sizeof *(keys)                                                        \
    }
const struct row_keys row_keys[ROW_KINDS] = {
    [ROW_HOST] = ROW(host_keys),
    [ROW_MOUNT] = ROW(mount_keys),
    [ROW_MODULE] = ROW(module_keys),
    [ROW_FUNC] = ROW(func_keys),
    [ROW_FRAME] = ROW(frame_keys),
    [ROW_NATIVE] = ROW(native_keys),
    [ROW_PYTHON] = ROW(python_keys),
    [ROW_MARK] = ROW(mark_keys),
    [ROW_LOCATION] = ROW(location_keys),
    [ROW_WAIT] = ROW(wait_keys),
    [ROW_WAIT_LIST] = ROW(wait_list_keys),
    [ROW_BLOCKER] = ROW(blocker_keys),
    [ROW_PROCESS] = ROW(process_keys),
    [ROW_CHILD] = ROW(child_keys),
    [ROW_THREAD] = ROW(thread_keys),
    [ROW_COUNTS] = ROW(counts_keys),
    [ROW_RUN_START] = ROW(run_start_keys),
    [ROW_RUN] = ROW(run_keys),
    [ROW_LOCK] = ROW(lock_keys),
    [ROW_TASKS] = ROW(tasks_keys),
    [ROW_LISTENER] = ROW(listener_keys),
    [ROW_USER_MARK] = ROW(user_mark_keys),
    [ROW_USER_PAUSE] = ROW(user_pause_keys),
};
