#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "cli/dump_forms.h"
#include "cli/json_head.h"
#include "dump/circles.h"
#include "dump/places.h"
#include "dump/tasks.h"
#include "dump/thread.h"
#include "dump/waits.h"
#include "exporter/json.h"
#include "summary/process_name.h"
#include "summary/spinning.h"
#include "summary/wait_side.h"
#include "summary/wait_text.h"
#include "target/command_line.h"
#include "target/host_state.h"
#include "target/maps.h"
#include "waits/connections.h"

enum { SYSCALL_ARGS = 6, MOST_SHARED = 64 };

/* ---- what is shared: by it, waits of different dumps, also of different machines, are found to be
 * for one thing ---- */

/* May a futex, or another process's words, lie in it?  No device's memory. */
static bool is_shared(const struct mapping *of)
{
    bool device = str_starts(of->path, "/dev/") && !str_starts(of->path, "/dev/shm/") &&
                  !str_starts(of->path, "/dev/zero");
    return of->shared && of->inode && of->prot & PROT_WRITE && !device;
}

static void write_file(struct json *j, const struct mapping *of)
{
    char device[32];
    (void)snprintf(device, sizeof device, "%x:%x", of->dev_major, of->dev_minor);
    json_string_field(j, "device", device);
    json_hex_field(j, "inode", of->inode);
}

/* Where the word lies that T waits on, if other processes may change it, too. */
static void write_place(struct json *j, const struct dump_thread *t, const struct maps *maps)
{
    const struct blocker *b = &t->side.blocker;
    uint64_t addr = t->side.addr ? t->side.addr : t->args[0];
    bool futex = t->state == THREAD_BLOCKED && t->syscall == SYS_futex;
    bool shared = futex && !(t->args[1] & FUTEX_PRIVATE_FLAG);
    const struct mapping *of = shared ? maps_find(maps, addr) : NULL;
    if (of && is_shared(of)) {
        write_file(j, of);
        json_hex_field(j, "offset", addr - of->start + of->file_offset);
    } else if (b->kind == BLOCKER_SHARED) {
        json_hex_field(j, "inode", b->inode);
        json_hex_field(j, "offset", b->offset);
    }
    if (b->kind == BLOCKER_SHARED && b->tid)
        json_int_field(j, "owner", b->tid);
}

/* Is B the other end of a TCP connection, and is it known? */
static bool is_connection(const struct blocker *b)
{
    bool connected = b->kind == BLOCKER_PEER || b->kind == BLOCKER_CLIENT;
    return connected && b->net == NET_TCP && b->host.ix;
}

static void write_remote(struct json *j, const struct dump *d, const struct blocker *b)
{
    char *remote = xasprintf("%s:%u", profile_text(d->profile, b->host), b->port);
    json_string(j, remote);
    free(remote);
}

/* The connections that an epoll, a poll or a select waits for, and how many other things. */
static void write_events(struct json *j, const struct dump *d, const struct wait_side *side)
{
    uint64_t more = (uint64_t)side->more + side->at_least;
    bool listens = false;
    json_array_field(j, "remotes");
    const struct listed_blocker *at = profile_see_blocker(d->profile, side->list);
    for (; at; at = profile_see_blocker(d->profile, at->next)) {
        const struct blocker *b = &at->blocker;
        listens |= b->kind == BLOCKER_LISTENER;
        if (is_connection(b))
            write_remote(j, d, b);
        else if (b->kind != BLOCKER_LISTENER && b->kind != BLOCKER_ITSELF)
            more += b->n;
    }
    json_end_array(j);
    json_int_field(j, "more", (int64_t)more);
    json_bool_field(j, "listens", listens);
}

/* The files by which it may share memory. */
static void write_shared(struct json *j, const struct maps *maps)
{
    const struct mapping *written[MOST_SHARED];
    size_t n = 0;
    json_array_field(j, "shared");
    for (size_t i = 0; i < maps->n && n < MOST_SHARED; i++) {
        const struct mapping *of = &maps->items[i];
        size_t k = 0;
        while (k < n && !mappings_have_one_file(written[k], of))
            k++;
        if (k < n || !is_shared(of))
            continue;
        written[n++] = of;
        json_object(j);
        write_file(j, of);
        json_end_object(j);
    }
    json_end_array(j);
}

static void write_address(struct json *j, const char *key, const struct net_address *a)
{
    struct text text = {0};
    net_address_add(&text, a);
    json_string_field(j, key, text.s);
    text_release(&text);
}

static void write_connections(struct json *j, pid_t pid)
{
    struct connections all = {0};
    connections_add(&all, pid);
    json_array_field(j, "connections");
    for (size_t i = 0; i < all.n; i++) {
        json_object(j);
        write_address(j, "local", &all.items[i].local);
        write_address(j, "remote", &all.items[i].remote);
        json_end_object(j);
    }
    json_end_array(j);
    connections_release(&all);
}

/* ---- a thread ---- */

static void write_syscall(struct json *j, const struct dump_thread *t)
{
    const char *name = syscall_name(t->syscall);
    char number[32];
    if (!json_known(j, "syscall", t->syscall >= 0 && t->state == THREAD_BLOCKED))
        return;
    (void)snprintf(number, sizeof number, "%lld", (long long)t->syscall);
    json_object(j);
    json_string_field(j, "name", name ? name : number);
    json_array_field(j, "args");
    for (int i = 0; i < SYSCALL_ARGS; i++)
        json_hex(j, t->args[i]);
    json_end_array(j);
    json_optional_field(j, "path", t->object);
    json_end_object(j);
}

static void write_frame(struct json *j, const struct shown_frame *f, const char *arguments)
{
    static const char *const kinds[] = {[SHOWN_NATIVE] = "native",
                                        [SHOWN_PYTHON] = "python",
                                        [SHOWN_MARK] = "note",
                                        [SHOWN_WAIT] = "note"};
    json_newline(j);
    json_object(j);
    json_string_field(j, "kind", kinds[f->kind]);
    json_string_field(j, "name", f->name);
    json_optional_field(j, "file", f->file);
    if (f->current_line)
        json_int_field(j, "line", f->current_line);
    json_optional_field(j, "module", f->module);
    if (f->address)
        json_hex_field(j, "address", f->address);
    if (f->inlined)
        json_bool_field(j, "inlined", true);
    if (f->guessed)
        json_bool_field(j, "guessed", true);
    json_optional_field(j, "arguments", arguments);
    json_end_object(j);
}

/* Of the stack AT, innermost first, with the arguments of T's; NULL: they are not known. */
static void write_frames(struct json *j, const struct dump *d, struct spot at,
                         const struct dump_thread *t)
{
    size_t n = 0;
    const struct shown_frame *frames = view_stack(d->view, at, &n);
    json_array_field(j, "frames");
    for (size_t i = n; i-- > 0;)
        write_frame(j, &frames[i], t ? dump_thread_arguments(t, frames, n, i) : NULL);
    json_end_array(j);
}

static void write_blocker(struct json *j, const struct blocker *b)
{
    bool gone = b->kind == BLOCKER_GONE;
    if (b->kind == BLOCKER_THREAD || gone)
        json_int_field(j, "tid", b->tid);
    if (gone)
        json_bool_field(j, "gone", true);
    else if (b->kind == BLOCKER_THREAD || blocker_is_process(b))
        json_int_field(j, "pid", b->pid);
    if (b->fd)
        json_int_field(j, "fd", (int64_t)b->fd);
}

static void write_wait(struct json *j, const struct dump *d, const struct dump_thread *t,
                       const struct maps *maps)
{
    const struct wait_side *side = &t->side;
    const char *kind = dump_wait_kind(d, t);
    if (!json_known(j, "waits_for", kind != NULL))
        return;
    json_object(j);
    json_string_field(j, "kind", kind);
    write_blocker(j, &side->blocker);
    if (side->addr) {
        json_hex_field(j, "what", side->addr);
    } else if (wait_side_is_kernels(side->thing) && wait_side_is_told(side)) {
        struct text what = {0};
        wait_side_add_what(&what, d->profile, side, true);
        json_string_field(j, "what", text_str(&what));
        text_release(&what);
    }
    const char *name = profile_lock_name(d->profile, t->pid, side->addr);
    json_optional_field(j, "name", *name ? name : NULL);
    if (is_connection(&side->blocker)) {
        json_key(j, "remote");
        write_remote(j, d, &side->blocker);
    }
    if (side->thing == THING_EVENTS)
        write_events(j, d, side);
    write_place(j, t, maps);
    json_end_object(j);
}

/* To the millisecond, not more than NS. */
static void write_seconds(struct json *j, const char *key, bool known, int64_t ns)
{
    int64_t ms = ns / NS_PER_MS;
    if (json_known(j, key, known))
        json_number(j, (double)ms / 1000);
}

/* What is known of the look: whether it ran, how long it has been where it is as far as that is
 * proven, and whether it was in different functions. */
static void write_look(struct json *j, const struct dump *d, const struct dump_thread *t)
{
    bool blocked = t->state == THREAD_BLOCKED;
    bool known = t->ran || (t->counted && !t->ended);
    const struct shown_frame *leaf = blocked ? NULL : dump_thread_leaf(d, t);
    if (json_known(j, "ran", known))
        json_bool(j, t->ran);
    write_seconds(j, "for_at_least_s", known && !t->ran && t->sampled && blocked, d->look_ns);
    write_seconds(j, "cpu_s", t->counted, t->cpu_ns);
    write_seconds(j, "cpu_wait_s", t->counted, t->queue_ns);
    if (json_known(j, "moved", d->places != NULL))
        json_bool(j, dump_places_moved(d->places, t));
    write_seconds(j, "times_out_in_s", t->time_out_ns > 0, t->time_out_ns);
    json_string_field(j, "spins", leaf && leaf->spins ? spinning_keys[leaf->spins] : NULL);
    if (json_known(j, "spun", d->places != NULL))
        json_bool(j, dump_places_spun(d->places, t));
    json_bool_field(j, "frozen", dump_thread_is_of_kind(d, t, WAIT_FROZEN));
}

/* ---- tasks ---- */

static void write_task_wait(struct json *j, struct dump *d, const struct listed_task *t)
{
    const char *kind = dump_task_kind(d, t);
    if (!json_known(j, "waits_for", kind != NULL))
        return;
    const struct listed_task *other = dump_task_awaited(d, t);
    const char *method = dump_task_method(d, t);
    json_object(j);
    json_string_field(j, "kind", kind);
    json_optional_field(j, "task", other ? profile_text_or_null(d->profile, other->name) : NULL);
    if (!method && t->awaited)
        json_hex_field(j, "object", t->awaited);
    if (method) {
        json_string_field(j, "function", method);
        json_hex_field(j, "object", t->owner);
        json_optional_field(j, "type", profile_text_or_null(d->profile, t->type));
    }
    json_end_object(j);
}

static void write_task(struct json *j, struct dump *d, const struct listed_task *t)
{
    static const char *const states[] = {[PY_TASK_WAITS] = "waiting",
                                         [PY_TASK_DUE] = "due",
                                         [PY_TASK_RUNS] = "running",
                                         [PY_TASK_UNKNOWN] = "unknown"};
    json_newline(j);
    json_object(j);
    json_string_field(j, "name", profile_text_or_null(d->profile, t->name));
    json_hex_field(j, "address", t->task);
    json_string_field(j, "state", states[t->does]);
    write_task_wait(j, d, t);
    json_bool_field(j, "complete", !t->cut && t->does != PY_TASK_UNKNOWN);
    write_frames(j, d, spot_of_stack(t->stack), NULL);
    json_end_object(j);
}

/* The process's tasks whose event loop is run by thread THREAD of the dump; SIZE_MAX: by none. */
static void write_tasks(struct json *j, struct dump *d, process_id process, size_t thread)
{
    json_array_field(j, "tasks");
    for (size_t i = 0; i < d->tasks.n; i++)
        if (d->task_threads[i] == thread && d->tasks.items[i].process.ix == process.ix)
            write_task(j, d, &d->tasks.items[i]);
    json_end_array(j);
}

static void write_thread(struct json *j, struct dump *d, const struct dump_thread *t,
                         const struct maps *maps)
{
    static const char *const states[] = {[THREAD_RUNNING] = "running",
                                         [THREAD_RUNNING_OR_RUNNABLE] = "running",
                                         [THREAD_RUNNABLE] = "runnable",
                                         [THREAD_BLOCKED] = "blocked",
                                         [THREAD_STOPPED] = "stopped"};
    static const char *const gil[] = {[PY_GIL_ABSENT] = NULL,
                                      [PY_GIL_NONE] = "none",
                                      [PY_GIL_HOLDING] = "holding",
                                      [PY_GIL_WAITING] = "waiting"};
    const struct profile_thread *thread = profile_see_thread(d->profile, t->thread);
    json_newline(j);
    json_object(j);
    json_int_field(j, "tid", t->tid);
    json_string_field(j, "name", profile_text(d->profile, thread->name));
    json_bool_field(j, "python", thread->python);
    json_string_field(j, "state", states[t->state]);
    write_syscall(j, t);
    json_optional_field(j, "wchan", t->wchan[0] ? t->wchan : NULL);
    json_string_field(j, "gil", gil[t->gil.gil]);
    write_wait(j, d, t, maps);
    write_look(j, d, t);
    json_bool_field(j, "complete", t->sampled && t->complete);
    write_frames(j, d, t->at, t);
    write_tasks(j, d, thread->process, (size_t)(t - d->threads));
    json_end_object(j);
}

/* ---- a process ---- */

static void write_argument(void *j, const char *masked)
{
    json_string(j, masked);
}

static void write_command(struct json *j, const struct dump *d, const struct profile_process *p)
{
    json_array_field(j, "command");
    /* It may have ended, or its memory is not to be read. */
    if (d->from_proc || !command_line_each(p->pid, write_argument, j))
        json_string(j, profile_text(d->profile, p->command));
    json_end_array(j);
}

static void write_rank(struct json *j, const struct profile *p, process_id process)
{
    static const struct {
        const char *key;
        const char *(*of)(const struct profile *p, process_id id, size_t *ret_len);
    } numbers[] = {{"rank", process_rank},
                   {"world_size", process_world_size},
                   {"local_rank", process_local_rank}};
    size_t len = 0;
    if (!process_rank(p, process, &len))
        return;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[16];
        const char *number = numbers[i].of(p, process, &len);
        if (!number)
            continue;
        (void)snprintf(text, sizeof text, "%.*s", (int)len, number);
        json_string_field(j, numbers[i].key, text);
    }
    if (!process_is_rank(p, process))
        json_bool_field(j, "inherits_rank", true);
}

/* The process whose first thread is FIRST.  Returns the first of the next one. */
static size_t write_process(struct json *j, struct dump *d, size_t first)
{
    process_id process = dump_thread_process(d, &d->threads[first]);
    const struct profile_process *p = profile_see_process(d->profile, process);
    size_t end = dump_next_process(d, first);
    struct maps maps = {0}; /* as they are now; none where they cannot be read */
    if (!d->from_proc)      /* its memory map may be locked: by that it hangs */
        (void)maps_load(&maps, p->pid);
    json_newline(j);
    json_object(j);
    json_int_field(j, "pid", p->pid);
    write_rank(j, d->profile, process);
    write_command(j, d, p);
    json_string_field(j, "python", profile_text_or_null(d->profile, p->python_version));
    json_bool_field(j, "stuck", dump_is_stuck(d, first));
    json_array_field(j, "threads");
    for (size_t i = first; i < end; i++)
        write_thread(j, d, &d->threads[i], &maps);
    json_end_array(j);
    write_tasks(j, d, process, SIZE_MAX);
    uint64_t net_ns = proc_net_namespace(p->pid);
    if (json_known(j, "net_ns", net_ns != 0))
        json_int(j, (int64_t)net_ns);
    write_shared(j, &maps);
    write_connections(j, p->pid);
    json_end_object(j);
    maps_release(&maps);
    return end;
}

/* ---- all ---- */

/* The circles of waits: their threads, and whether they are deadlocks. */
static void write_circles(struct json *j, const struct dump *d)
{
    json_array_field(j, "circles");
    for (int cycle = 1; cycle <= d->waits.n_cycles; cycle++) {
        json_object(j);
        json_bool_field(j, "deadlock", d->deadlocks[cycle]);
        json_array_field(j, "tids");
        const struct waiter *first = wait_graph_first(&d->waits, cycle);
        const struct waiter *w = first;
        do {
            json_int(j, w->tid);
            w = &d->waits.items[w->next];
        } while (w != first);
        json_end_array(j);
        json_end_object(j);
    }
    json_end_array(j);
}

int dump_json(struct dump *d, FILE *out)
{
    struct json j = {.out = out};
    char boot_id[HOST_WORDS_BYTES];
    json_head(&j, "dump/1");
    host_boot_id(boot_id);
    json_string_field(&j, "boot_id", *boot_id ? boot_id : NULL);
    write_seconds(&j, "look_s", true, d->look_ns);
    write_circles(&j, d);
    json_array_field(&j, "processes");
    for (size_t i = 0; i < d->n;)
        i = write_process(&j, d, i);
    json_end_array(&j);
    json_int_field(&j, "tasks_moved", (int64_t)d->tasks.n_moved);
    json_bool_field(&j, "tasks_cut", d->tasks.n_more > 0);
    json_end_object(&j);
    return json_finish(&j);
}
