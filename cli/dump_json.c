#include <stdlib.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "cli/dump_match.h"
#include "cli/dump_places.h"
#include "cli/dump_tasks.h"
#include "cli/dump_waits.h"
#include "cli/dump_words.h"
#include "cli/json_head.h"
#include "exporter/json.h"
#include "summary/process_name.h"
#include "summary/spinning.h"
#include "summary/wait_side.h"
#include "summary/wait_text.h"
#include "target/command_line.h"

enum { SYSCALL_ARGS = 6 };

static void write_hex(struct json *j, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    json_string(j, text);
}

static void write_syscall(struct json *j, const struct dump_thread *t)
{
    const char *name = syscall_name(t->syscall);
    char number[32];
    if (!json_known(j, "syscall", t->syscall >= 0 && t->state == THREAD_BLOCKED))
        return;
    (void)snprintf(number, sizeof number, "%lld", (long long)t->syscall);
    json_object(j);
    json_string_field(j, "name", name ? name : number);
    json_key(j, "args");
    json_array(j);
    for (int i = 0; i < SYSCALL_ARGS; i++)
        write_hex(j, t->args[i]);
    json_end_array(j);
    if (t->object)
        json_string_field(j, "path", t->object);
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
    if (f->file)
        json_string_field(j, "file", f->file);
    if (f->current_line)
        json_int_field(j, "line", f->current_line);
    if (f->module)
        json_string_field(j, "module", f->module);
    if (f->address) {
        json_key(j, "address");
        write_hex(j, f->address);
    }
    if (f->inlined)
        json_bool_field(j, "inlined", true);
    if (f->guessed)
        json_bool_field(j, "guessed", true);
    if (arguments)
        json_string_field(j, "arguments", arguments);
    json_end_object(j);
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
}

static void write_wait(struct json *j, const struct dump *d, const struct dump_thread *t,
                       const struct dump_match *match)
{
    const char *kind = dump_waits_kind(t);
    if (!json_known(j, "waits_for", kind != NULL))
        return;
    json_object(j);
    json_string_field(j, "kind", kind);
    write_blocker(j, &t->side.blocker);
    if (t->side.addr) {
        char what[24];
        (void)snprintf(what, sizeof what, "0x%llx", (unsigned long long)t->side.addr);
        json_string_field(j, "what", what);
    } else if (wait_side_is_kernels(t->side.thing) && wait_side_is_told(&t->side)) {
        struct text what = {0};
        text_add(&what, "");
        wait_side_add_what(&what, d->profile, &t->side, true);
        json_string_field(j, "what", what.s);
        text_release(&what);
    }
    const char *name = profile_lock_name(d->profile, t->pid, t->side.addr);
    if (*name)
        json_string_field(j, "name", name);
    dump_match_write_wait(j, d, t, match);
    json_end_object(j);
}

/* To the millisecond, not more than NS. */
static double seconds(int64_t ns)
{
    int64_t ms = ns / NS_PER_MS;
    return (double)ms / 1000;
}

/* Its time on CPUs, and in waits for one; whether it was in different functions. */
static void write_times(struct json *j, const struct dump *d, const struct dump_thread *t)
{
    const struct {
        const char *key;
        int64_t ns;
    } times[] = {{"cpu_s", t->cpu_ns}, {"cpu_wait_s", t->queue_ns}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (json_known(j, times[i].key, t->counted))
            json_number(j, seconds(times[i].ns));
    }
    if (json_known(j, "moved", d->places != NULL))
        json_bool(j, dump_places_moved(d->places, t));
    if (json_known(j, "times_out_in_s", t->time_out_ns > 0))
        json_number(j, seconds(t->time_out_ns));
    enum spin_kind spins = t->state == THREAD_BLOCKED ? SPIN_NONE : dump_words_spin(d, t);
    json_string_field(j, "spins", spins == SPIN_NONE ? NULL : spinning_keys[spins]);
    if (json_known(j, "spun", d->places != NULL))
        json_bool(j, dump_places_spun(d->places, t));
    json_bool_field(j, "frozen", dump_words_is_frozen(d, t));
}

/* Whether it ran in the look, and for how long it has been where it is as far as that is proven. */
static void write_look(struct json *j, const struct dump *d, const struct dump_thread *t)
{
    bool known = t->ran || (t->counted && !t->ended);
    if (json_known(j, "ran", known))
        json_bool(j, t->ran);
    if (json_known(j, "for_at_least_s",
                   known && !t->ran && t->sampled && t->state == THREAD_BLOCKED))
        json_number(j, seconds(d->look_ns));
    write_times(j, d, t);
}

static void write_gil(struct json *j, const struct dump *d, const struct dump_thread *t,
                      const struct dump_match *match)
{
    static const char *const texts[] = {[PY_GIL_ABSENT] = NULL,
                                        [PY_GIL_NONE] = "none",
                                        [PY_GIL_HOLDING] = "holding",
                                        [PY_GIL_WAITING] = "waiting"};
    json_string_field(j, "gil", texts[t->gil.gil]);
    write_wait(j, d, t, match);
    write_look(j, d, t);
}

/* The circles of waits: their threads, and whether they are deadlocks. */
static void write_circles(struct json *j, const struct dump *d)
{
    json_key(j, "circles");
    json_array(j);
    for (int cycle = 1; cycle <= d->waits.n_cycles; cycle++) {
        json_object(j);
        json_bool_field(j, "deadlock", d->deadlocks[cycle]);
        json_key(j, "tids");
        json_array(j);
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
    if (other && other->name.ix)
        json_string_field(j, "task", profile_text(d->profile, other->name));
    if (!method && t->awaited) {
        json_key(j, "object");
        write_hex(j, t->awaited);
    }
    if (method) {
        json_string_field(j, "function", method);
        json_key(j, "object");
        write_hex(j, t->owner);
        if (t->type.ix)
            json_string_field(j, "type", profile_text(d->profile, t->type));
    }
    json_end_object(j);
}

static void write_task(struct json *j, struct dump *d, const struct listed_task *t)
{
    static const char *const states[] = {[PY_TASK_WAITS] = "waiting",
                                         [PY_TASK_DUE] = "due",
                                         [PY_TASK_RUNS] = "running",
                                         [PY_TASK_UNKNOWN] = "unknown"};
    size_t n = 0;
    json_newline(j);
    json_object(j);
    json_string_field(j, "name", t->name.ix ? profile_text(d->profile, t->name) : NULL);
    json_key(j, "address");
    write_hex(j, t->task);
    json_string_field(j, "state", states[t->does]);
    write_task_wait(j, d, t);
    json_bool_field(j, "complete", !t->cut && t->does != PY_TASK_UNKNOWN);
    json_key(j, "frames");
    json_array(j);
    const struct shown_frame *frames =
        t->stack.ix ? view_stack(d->view, spot_of_stack(t->stack), &n) : NULL;
    for (size_t i = n; i-- > 0;)
        write_frame(j, &frames[i], NULL);
    json_end_array(j);
    json_end_object(j);
}

/* The process's tasks whose event loop is run by thread THREAD of the dump; SIZE_MAX: by none. */
static void write_tasks(struct json *j, struct dump *d, process_id process, size_t thread)
{
    json_key(j, "tasks");
    json_array(j);
    for (size_t i = 0; i < d->tasks.n; i++)
        if (d->task_threads[i] == thread && d->tasks.items[i].process.ix == process.ix)
            write_task(j, d, &d->tasks.items[i]);
    json_end_array(j);
}

static void write_thread(struct json *j, struct dump *d, const struct dump_thread *t,
                         const struct dump_match *match)
{
    const struct profile_thread *thread = profile_see_thread(d->profile, t->thread);
    size_t n = 0;
    const struct shown_frame *frames = view_stack(d->view, t->at, &n);
    json_newline(j);
    json_object(j);
    json_int_field(j, "tid", t->tid);
    json_string_field(j, "name", profile_text(d->profile, thread->name));
    json_bool_field(j, "python", thread->python);
    json_string_field(j, "state", dump_thread_state(t));
    write_syscall(j, t);
    if (t->wchan[0])
        json_string_field(j, "wchan", t->wchan);
    write_gil(j, d, t, match);
    json_bool_field(j, "complete", t->sampled && t->complete);
    json_key(j, "frames");
    json_array(j);
    for (size_t i = n; i-- > 0;)
        write_frame(j, &frames[i], dump_thread_arguments(t, frames, n, i));
    json_end_array(j);
    write_tasks(j, d, thread->process, (size_t)(t - d->threads));
    json_end_object(j);
}

struct arguments {
    struct json *j;
    size_t n;
};

static void write_argument(void *ctx, const char *masked)
{
    struct arguments *to = ctx;
    json_string(to->j, masked);
    to->n++;
}

static void write_number(struct json *j, const char *key, const char *number, size_t len)
{
    char text[16];
    if (!number)
        return;
    (void)snprintf(text, sizeof text, "%.*s", (int)len, number);
    json_string_field(j, key, text);
}

static void write_rank(struct json *j, const struct profile *p, process_id process)
{
    size_t len = 0;
    const char *rank = process_rank(p, process, &len);
    if (!rank)
        return;
    write_number(j, "rank", rank, len);
    const char *world = process_world_size(p, process, &len);
    write_number(j, "world_size", world, len);
    const char *local = process_local_rank(p, process, &len);
    write_number(j, "local_rank", local, len);
    if (!process_is_rank(p, process))
        json_bool_field(j, "inherits_rank", true);
}

static void begin_process(struct json *j, const struct dump *d, const struct dump_thread *t)
{
    const struct profile_thread *thread = profile_see_thread(d->profile, t->thread);
    const struct profile_process *p = profile_see_process(d->profile, thread->process);
    json_newline(j);
    json_object(j);
    json_int_field(j, "pid", p->pid);
    write_rank(j, d->profile, thread->process);
    json_key(j, "command");
    json_array(j);
    struct arguments written = {.j = j};
    if (!d->from_proc)
        command_line_each(p->pid, write_argument, &written);
    if (!written.n) /* it has ended, or its memory is not to be read */
        json_string(j, profile_text(d->profile, p->command));
    json_end_array(j);
    string_id python = p->python_version;
    json_string_field(j, "python", python.ix ? profile_text(d->profile, python) : NULL);
    json_bool_field(j, "stuck", dump_waits_stuck(d, (size_t)(t - d->threads)));
    json_key(j, "threads");
    json_array(j);
}

static void end_process(struct json *j, struct dump *d, const struct dump_thread *t,
                        struct dump_match *match)
{
    json_end_array(j);
    write_tasks(j, d, profile_see_thread(d->profile, t->thread)->process, SIZE_MAX);
    dump_match_write_process(j, match);
    dump_match_close(match);
    json_end_object(j);
}

int dump_json(struct dump *d, FILE *out)
{
    struct json j = {.out = out};
    struct dump_match match = {0};
    json_head(&j, "dump/1");
    dump_match_write_machine(&j);
    json_key(&j, "look_s");
    json_number(&j, seconds(d->look_ns));
    write_circles(&j, d);
    json_key(&j, "processes");
    json_array(&j);
    for (size_t i = 0; i < d->n; i++) {
        if (i == 0 || d->threads[i - 1].pid != d->threads[i].pid) {
            if (i)
                end_process(&j, d, &d->threads[i - 1], &match);
            begin_process(&j, d, &d->threads[i]);
            dump_match_open(&match, d, d->threads[i].pid);
        }
        write_thread(&j, d, &d->threads[i], &match);
    }
    if (d->n)
        end_process(&j, d, &d->threads[d->n - 1], &match);
    json_end_array(&j);
    json_int_field(&j, "tasks_moved", (int64_t)d->tasks.n_moved);
    json_bool_field(&j, "tasks_cut", d->tasks.n_more > 0);
    json_end_object(&j);
    return json_finish(&j);
}
