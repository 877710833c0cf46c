#include "cli/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/minmax.h"
#include "cli/dump_look.h"
#include "cli/dump_places.h"
#include "cli/dump_proc.h"
#include "cli/dump_tasks.h"
#include "cli/dump_waits.h"
#include "cli/exit_codes.h"
#include "cli/pyspy_dump.h"
#include "cli/signals.h"
#include "cli/targets.h"
#include "cli/terminal.h"
#include "cli/thread_check.h"
#include "cli/watchdog.h"
#include "target/memory_limit.h"
#include "target/proc.h"
#include "waits/wait_reason.h"

enum {
    LOOK_NS = NS_PER_S / 2, /* the time that shows a hang */
    LOOKS_HZ = 18,          /* nine or ten looks in it: a thread is held twelve times at most */
};

static void describe_call(struct dump_thread *d, const struct sample_message *m)
{
    const struct snapshot *s = &m->snapshot;
    d->syscall = m->head.flags & SAMPLE_NO_STACK ? -2 : s->syscall;
    memcpy(d->args, s->syscall_args, sizeof d->args);
    d->runs = m->head.held_ns ? 0 : m->head.sched.runs;
    if (d->state != THREAD_BLOCKED)
        return;
    struct text object = {0};
    wait_object(m, &object);
    if (object.len)
        d->object = object.s;
    else
        text_release(&object);
}

static struct dump_thread *find_thread(const struct dump *dump, thread_id thread)
{
    uint64_t at;
    return map_get(&dump->by_thread, thread.ix, &at) ? &dump->threads[at] : NULL;
}

/* The shot calls again for a thread whose stack was not complete.  A sample without a stack
 * replaces none that has one. */
static bool is_better(const struct dump_thread *had, const struct sample_message *m)
{
    return !(had->shot && had->complete) && !(had->sampled && m->head.flags & SAMPLE_NO_STACK);
}

static void on_sample(void *ctx, thread_id thread, const struct sample_message *m,
                      const struct built_stack *s)
{
    struct dump *dump = ctx;
    struct dump_thread *had = find_thread(dump, thread);
    struct schedstat first = had ? had->first : m->head.sched;
    if (had && !is_better(had, m)) {
        had->last = m->head.sched;
        return;
    }
    struct dump_thread *d = had ? had : dump_thread_add(dump, thread);
    const struct profile_thread *t = profile_see_thread(dump->profile, thread);
    if (had)
        dump_thread_release(had);
    *d = (struct dump_thread){
        .thread = thread,
        .pid = profile_see_process(dump->profile, t->process)->pid,
        .tid = m->head.tid,
        .sampled = !(m->head.flags & SAMPLE_NO_STACK),
        .shot = m->head.shot,
        .born = m->head.born,
        .first = first,
        .last = m->head.sched,
        .state = m->snapshot.state,
        .gil = s->gil,
        .complete = s->complete,
        .at = s->at,
        .time_out_ns = s->times_out_ns ? max_i64(s->times_out_ns - m->head.time_ns, 1) : 0,
    };
    memcpy(d->python_threads, s->python_threads, sizeof d->python_threads);
    describe_call(d, m);
    d->asks = blocked_call_of(m, &d->call);
    if (s->locals)
        d->locals = py_locals_take(s->locals);
}

/* Threads that could not be captured in time are in the dump too, with what /proc says of threads
 * without a stack.  An io_uring worker's registers are copies. */
static void add_missing(struct dump *dump)
{
    uint32_t threads = profile_thread_count(dump->profile);
    struct task_stat stat;
    for (uint32_t i = 1; i <= threads; i++) {
        const struct profile_thread *t = profile_see_thread(dump->profile, (thread_id){i});
        struct dump_thread *d = find_thread(dump, (thread_id){i});
        if (!d) {
            d = dump_thread_add(dump, (thread_id){i});
            *d = (struct dump_thread){.thread = {i},
                                      .pid = profile_see_process(dump->profile, t->process)->pid,
                                      .tid = t->tid,
                                      .gil = {.gil = PY_GIL_ABSENT}};
        }
        if (!d->sampled && !dump_thread_is_of_kind(dump, d, WAIT_IO_WORKER))
            (void)dump_proc_read(d, &stat);
    }
}

static int by_process_and_tid(const void *a, const void *b)
{
    const struct dump_thread *x = a;
    const struct dump_thread *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if ((x->tid == x->pid) != (y->tid == y->pid))
        return x->tid == x->pid ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* How long threads are looked at before the shot; 0: the shot is all. */
static int64_t look_ns(const struct options *o)
{
    if (o->now || o->as_py_spy)
        return 0;
    return o->twice_ns ? o->twice_ns : LOOK_NS;
}

static struct recording_config configure(const struct options *o)
{
    struct sampler_config sampler = {
        .rate_hz = LOOKS_HZ,
        .max_held = 1,
        .single_shot = true,
        .looks_first = look_ns(o) > 0,
        .freeze = o->freeze,
        .no_stop = o->no_stop,
        .filter = {o->threads.words, o->threads.n},
    };
    struct stack_options stacks = {
        .no_native = o->view.no_native,
        .no_python = o->view.no_python,
        .tasks = o->tasks,
        .locals = o->locals,
        .all_locals = o->as_py_spy,
    };
    return (struct recording_config){.sampler = sampler,
                                     .stacks = stacks,
                                     .follow = o->subprocesses,
                                     .has_left = watchdog_has_left};
}

/* A dump has no quality line. */
static void warn_of_names(const struct profile *p)
{
    double frames = profile_number(p, METRIC_FRAMES_UNNAMED);
    if (frames > 0)
        log_warn("names", "%.0f frames have no name, because naming failed: %s", frames,
                 profile_metadata_text(p, "naming_failed"));
}

static int capture(const struct options *o, struct recording *r, const pid_t *pids, size_t n,
                   bool *ret_one_missing, int64_t *ret_look_ns)
{
    struct err err = {0};
    int error = targets_start(r, pids, n, ret_one_missing, &err);
    if (error < 0) {
        terminal_error("%s", err.text);
        return exit_code_of_errno(error);
    }
    watchdog_watch(recording_sampler(r), 0, false);
    watchdog_expect_end();
    *ret_look_ns = look_ns(o) ? dump_look_run(r, look_ns(o)) : 0;
    recording_finish(r, NULL, NULL);
    warn_of_names(recording_profile(r));
    return EXIT_OK;
}

/* All that a dump says beside stacks.  Each look comes when what it compares with has settled. */
static void read_beside_stacks(const struct options *o, struct dump *dump,
                               const struct process_set *processes)
{
    if (!o->view.no_python)
        dump_tasks_read(dump, processes);
    dump_tasks_link(dump);
    for (size_t i = 0; i < dump->n; i++)
        dump_thread_read_wchan(&dump->threads[i]);
    dump_look_settle(dump);
    dump_look_end(dump);
    struct view_options view = o->view;
    view.whole = true;
    view.internals |= o->full;
    dump->view = view_new(dump->profile, &view);
    if (look_ns(o))
        dump->places = dump_places_new(dump->profile, &o->view);
    dump_waits_find(dump, processes);
    dump_thread_call(dump);
}

static int write_dump(const struct options *o, struct dump *dump)
{
    dump->style = (struct dump_style){.full = o->full || o->view.internals,
                                      .twice = o->twice_ns > 0,
                                      .subprocesses = o->subprocesses,
                                      .filtered = o->threads.n > 0,
                                      .width = (size_t)terminal_data_width()};
    return o->json ? dump_json(dump, stdout) : dump_text(dump, stdout);
}

static int print(const struct options *o, struct dump *dump, const struct process_set *processes)
{
    add_missing(dump);
    if (dump->n) /* qsort(3) takes no NULL */
        qsort(dump->threads, dump->n, sizeof *dump->threads, by_process_and_tid);
    if (o->as_py_spy)
        dump->view = view_new(dump->profile, &o->view);
    else
        read_beside_stacks(o, dump, processes);
    signals_let_broken_pipe_end(); /* no thread is held now */
    int error = o->as_py_spy ? pyspy_dump(dump, processes, o, stdout) : write_dump(o, dump);
    if (fflush(stdout) != 0 && !error)
        error = -errno;
    dump->places = dump_places_free(dump->places);
    view_free(dump->view);
    if (error)
        terminal_error("cannot write the dump: %s", strerror(-error));
    return error ? EXIT_FAILED : EXIT_OK;
}

/* On the watchdog's thread, where the others hang: what can be told without them. */
static int show_from_proc(const void *options)
{
    const struct options *o = options;
    struct dump dump = {0};
    dump_proc_fill(&dump, o->pids, o->n_pids);
    int error = write_dump(o, &dump);
    return error || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_NO_SAMPLE;
}

static int dump(const void *options)
{
    const struct options *o = options;
    pid_t *pids = NULL;
    size_t n = 0;
    bool one_missing = false;
    if (!o->as_py_spy)
        watchdog_on_hang(show_from_proc, o);
    watchdog_start();
    signals_open(false);
    int code = targets_check(o, &pids, &n, &one_missing);
    if (code != EXIT_OK)
        return code;
    signals_end_at_once(); /* nothing is lost by it, and who is held goes on */
    struct recording_config config = configure(o);
    memory_limit(0);
    struct recording *r = recording_new(&config);
    struct dump dump = {.profile = recording_profile(r), .live_waits = recording_waits(r)};
    recording_on_sample(r, on_sample, &dump);
    signals_block_terminal_stop(); /* not with a thread held, or about to be */
    code = capture(o, r, pids, n, &one_missing, &dump.look_ns);
    signals_let_terminal_stop();
    if (code == EXIT_OK && o->as_py_spy)
        code = pyspy_dump_check(recording_profile(r), o);
    if (code == EXIT_OK)
        code = print(o, &dump, recording_processes(r));
    if (code == EXIT_OK && dump.n == 0) {
        if (thread_check(o, pids, n) == EXIT_OK)
            terminal_error("no thread is left to show: the process has ended.");
        code = EXIT_NO_SAMPLE;
    }
    for (size_t i = 0; i < dump.n; i++)
        dump_thread_release(&dump.threads[i]);
    free(dump.threads);
    map_release(&dump.by_thread);
    free(dump.deadlocks);
    dump_tasks_release(&dump);
    wait_graph_release(&dump.waits);
    watchdog_end();
    recording_free(r);
    free(pids);
    return code;
}

/* py-spy's has no view without what hangs. */
int dump_main(const struct options *o)
{
    return o->as_py_spy ? dump(o) : watchdog_run_apart(dump, o);
}
