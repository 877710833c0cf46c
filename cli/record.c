#include "cli/record.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "cli/exit_codes.h"
#include "cli/followed.h"
#include "cli/moments_text.h"
#include "cli/outputs.h"
#include "cli/quality.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/steer.h"
#include "cli/targets.h"
#include "cli/terminal.h"
#include "cli/thread_check.h"
#include "cli/unsampled.h"
#include "cli/watchdog.h"
#include "cli/window.h"
#include "profile/ageing.h"
#include "sampler/launch.h"
#include "target/cgroup.h"
#include "target/memory_limit.h"
#include "worker/process_set.h"
#include "worker/recording.h"

enum {
    PROGRESS_NS = 500 * NS_PER_MS,
    PAUSE_LOOK_NS = 100 * NS_PER_MS,
    LEAST_PAUSE_NS = 5 * NS_PER_MS, /* of the worker */
    FOLLOW_NS = 10 * NS_PER_MS,     /* children are to be sampled within 50 ms of their birth */
    HEADLINE_AFTER_NS = 100 * NS_PER_MS, /* by then every thread was seen, and Python found */
    LAUNCHER_NS = 1500 * NS_PER_MS,      /* by then it has shown that it only waits */
    PYTHON_STARTS_NS = 2000 * NS_PER_MS, /* also behind a launcher, on a busy machine */
};

struct record {
    const struct options *options;
    pid_t *pids;
    size_t n_pids;
    pid_t command; /* 0: attached */
    struct outputs *outputs;
    struct recording *recording;
    struct steer *steer;        /* NULL: before the start, and after the end */
    struct throttled throttled; /* before the start */
    bool suspend_wanted;        /* by Ctrl-Z, and not done yet */
    bool rate_printed;          /* the user has read of a lower rate */
    bool step_printed;          /* the user has read of coarse time lines */
    bool one_missing;           /* a process that was asked for */
    bool started;               /* the sampling */
    int64_t looked_ns;          /* for its end, in a pause */
    struct unsampled unsampled; /* children */
    int64_t first_cpu_ns;       /* of the only process asked for, at the start; −1: unknown */
};

/* ---- set-up ---- */

/* Starts the command.  Returns EXIT_OK or the code to exit with. */
static int launch(struct record *r)
{
    struct err err = {0};
    sigset_t old;
    signals_block(&old);
    if (signals_stop_wanted()) {
        signals_restore(&old);
        terminal_error("stopped before the command began: it was not started.");
        return EXIT_FAILED;
    }
    int error = launch_start(&r->command, r->options->argv, &old, &err);
    if (error == 0)
        signals_set_command(r->command);
    signals_restore(&old);
    if (error < 0) {
        terminal_error("%s", err.text);
        return exit_code_of_exec(-error);
    }
    r->pids = xmalloc(sizeof *r->pids);
    r->pids[0] = r->command;
    r->n_pids = 1;
    return EXIT_OK;
}

static struct recording_config configure(const struct options *o)
{
    struct sampler_config sampler = {
        .rate_hz = o->rate_hz,
        .max_held = o->max_overhead,
        .max_cpus = cgroup_cpus() / 2, /* bursts shorter than the kernel's period may take it all */
        .no_stop = o->no_stop,
        .ends_with_first = o->argv != NULL,
        .filter = {o->threads.words, o->threads.n},
    };
    struct stack_options stacks = {
        .no_native = o->view.no_native,
        .no_python = o->view.no_python,
        .gil_only = o->gil,
        .tasks = o->tasks,
    };
    return (struct recording_config){.sampler = sampler,
                                     .stacks = stacks,
                                     .max_bytes = o->max_bytes,
                                     .keep_ns = o->ring_ns,
                                     .follow = o->subprocesses,
                                     .has_left = watchdog_has_left};
}

static int start(struct record *r)
{
    struct err err = {0};
    struct recording_config config = configure(r->options);
    memory_limit(r->options->max_bytes);
    r->throttled = cgroup_throttled();
    r->recording = recording_new(&config);
    signals_block_terminal_stop();
    int error = targets_start(r->recording, r->pids, r->n_pids, &r->one_missing, &err);
    if (error == 0) {
        watchdog_watch(recording_sampler(r->recording), r->command, r->options->strict);
        r->started = true;
        r->steer = steer_new(r->options, r->recording, r->outputs);
        r->first_cpu_ns = r->n_pids == 1 ? followed_cpu_ns(r->pids[0]) : -1;
        if (!r->options->subprocesses)
            unsampled_begin(&r->unsampled, r->pids, r->n_pids);
        return EXIT_OK;
    }
    signals_let_terminal_stop();
    if (r->command && error == -ESRCH)
        terminal_warn("cannot sample %s: it ended before the first sample", r->options->argv[0]);
    else if (r->command)
        terminal_warn("cannot sample %s: %s", r->options->argv[0], err.text);
    else
        terminal_error("%s", err.text);
    return exit_code_of_errno(error);
}

/* ---- sampling ---- */

static bool is_over(const struct record *r)
{
    return signals_stop_wanted() || sampler_done(recording_sampler(r->recording));
}

/* NS, or the time until the worker's next duty is due, if that is less. */
static int64_t until_due(const struct record *r, int64_t ns)
{
    int64_t due_ns = recording_due_ns(r->recording);
    return due_ns == INT64_MAX ? ns : min_i64(ns, max_i64(due_ns - clock_now_ns(), LEAST_PAUSE_NS));
}

/* Sleeps until the ring has a message, a signal comes, the next line of progress is due, or
 * children are to be looked for. */
static void wait_for_work(const struct record *r, int64_t most_ns)
{
    struct sampler *sampler = recording_sampler(r->recording);
    struct pollfd fds[] = {{signals_fd(), POLLIN, 0},
                           {sampler_fd(sampler), POLLIN, 0},
                           {steer_fd(r->steer), POLLIN, 0}};
    int64_t ns = min_i64(most_ns, r->options->subprocesses ? FOLLOW_NS : PROGRESS_NS);
    ns = until_due(r, ns);
    struct timespec timeout = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    (void)ppoll(fds, sizeof fds / sizeof *fds, &timeout, NULL);
    if (fds[0].revents)
        signals_drain();
    if (fds[1].revents)
        sampler_drain(sampler);
}

/* After work: waits until the ring has several messages again; looks for children meanwhile. */
static void rest(const struct record *r, int64_t most_ns)
{
    int64_t ns = until_due(r, min_i64(recording_batch_ns(r->recording), most_ns));
    int64_t piece_ns = r->options->subprocesses ? FOLLOW_NS : ns;
    for (; ns > 0; ns -= piece_ns) {
        signals_wait(min_i64(ns, piece_ns));
        if (recording_follow(r->recording))
            break;
    }
}

/* Once, when the rate has fallen below half of the rate asked for.  It moves up and down, so the
 * quality line alone says the mean. */
static void print_rate(struct record *r)
{
    struct sampler *sampler = recording_sampler(r->recording);
    double rate_hz = sampler_rate_hz(sampler);
    if (r->rate_printed || 2 * rate_hz >= r->options->rate_hz)
        return;
    r->rate_printed = true;
    const struct sampler_counters *c = sampler_counters(sampler);
    if (counters_get(c, COUNT_RATE_LOWERED_FOR_QUOTA))
        terminal_info(
            "wallspy takes more than half of its cgroup's CPU quota: rate lowered to %.0f Hz",
            rate_hz);
    else if (2 * counters_get(c, COUNT_RATE_LOWERED_FOR_CPU) > counters_get(c, COUNT_RATE_LOWERED))
        terminal_info("sampling takes CPU time that threads wait for: rate lowered to %.0f Hz "
                      "(--max-overhead)",
                      rate_hz);
    else
        terminal_info(
            "overhead above %g%% of a thread's time: rate lowered to %.0f Hz (--max-overhead)",
            100 * r->options->max_overhead, rate_hz);
}

/* Once, as well: the ring has no room for all the time that was asked for. */
static void print_ring(struct record *r)
{
    int64_t kept_ns = profile_kept_ns(recording_profile(r->recording));
    if (r->step_printed || kept_ns == r->options->ring_ns)
        return;
    r->step_printed = true;
    struct text kept = {0};
    text_add_span(&kept, (double)kept_ns / NS_PER_S);
    terminal_info("--max-size has no room for so much of --ring: the last %s are kept", kept.s);
    text_release(&kept);
}

/* Once, as well. */
static void print_step(struct record *r)
{
    int64_t step_ns = profile_time_step_ns(recording_profile(r->recording));
    if (r->step_printed || !step_ns)
        return;
    r->step_printed = true;
    struct text step = {0};
    text_add_span(&step, (double)step_ns / NS_PER_S);
    terminal_info("the recording has reached --max-size: older samples keep their order in steps "
                  "of %s only, in longer steps later; no total is lost",
                  step.s);
    text_release(&step);
}

static void print_room(struct record *r)
{
    if (r->options->ring_ns)
        print_ring(r);
    else
        print_step(r);
}

/* Ctrl-Z: stops as any job does, but with no thread of the target held.  False: a thread that waits
 * for a page may be held at any time, so wallspy must not stop now. */
static bool suspend(struct recording *recording)
{
    bool was_paused = recording_paused_ns(recording) >= 0;
    if (!recording_pause(recording))
        return false;
    signals_stop_as_terminal_asks();
    if (!was_paused)
        recording_resume(recording);
    return true;
}

static void obey_signals(struct record *r)
{
    r->suspend_wanted |= signals_take_terminal_stop();
    if (r->suspend_wanted)
        r->suspend_wanted = !suspend(r->recording);
    if (signals_take_snapshot())
        (void)steer_snapshot(r->steer);
}

/* Zombies have ended, too.  UNKNOWN: what is assumed without pidfd_open (before Linux 5.3). */
static bool has_ended_or(pid_t pid, bool unknown)
{
    struct pollfd fd = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (fd.fd < 0)
        return errno == ESRCH || (errno == ENOSYS && unknown);
    bool ended = poll(&fd, 1, 0) > 0;
    close(fd.fd);
    return ended;
}

static bool has_ended(pid_t pid)
{
    return has_ended_or(pid, true);
}

/* Have all ended whom the sampler, which does not look in a pause, would find to have ended? */
static bool all_have_ended(const struct record *r)
{
    const struct process_set *set = recording_processes(r->recording);
    size_t n = 0;
    int status;
    if (r->command && sampler_child_status(recording_sampler(r->recording), r->command, &status))
        return true;
    while (n < set->n_alive && has_ended_or(set->alive[n]->pid, false))
        n++;
    return n == set->n_alive;
}

/* In a pause that somebody asked for. */
static void look_in_pause(struct record *r)
{
    struct text line = {0};
    int64_t now_ns = clock_now_ns();
    if (now_ns - r->looked_ns < PAUSE_LOOK_NS)
        return;
    r->looked_ns = now_ns;
    if (all_have_ended(r)) {
        recording_resume(r->recording);
        return;
    }
    if (!terminal_is_live() || r->options->no_progress)
        return;
    text_add(&line, "paused for ");
    text_add_span(&line, (double)recording_paused_ns(r->recording) / NS_PER_S);
    text_addf(&line, "   wallspy ctl %d resume: go on", getpid());
    terminal_progress(line.s);
    text_release(&line);
}

/* Does the command, or the program that it has become, go by the name of an interpreter of which no
 * Python stack was seen yet? */
static bool python_is_starting(const struct record *r)
{
    const struct profile *p = recording_profile(r->recording);
    const struct profile_process *process = profile_see_process(p, (process_id){1});
    const char *line = profile_text(p, process->command);
    char *program = xasprintf("%.*s", (int)strcspn(line, " "), line);
    bool python = str_starts(path_base(program), "python") ||
                  str_starts(path_base(r->options->argv[0]), "python");
    free(program);
    return python && !r->options->view.no_python && report_python_threads(p) == 0;
}

/* Does the only process that was asked for wait for others, which are recorded? */
static bool is_launcher(const struct record *r)
{
    return r->options->subprocesses &&
           followed_is_launcher(r->recording, r->pids[0], r->first_cpu_ns);
}

static bool headline_is_due(const struct record *r, int64_t running_ns)
{
    if (running_ns < HEADLINE_AFTER_NS ||
        sampler_thread_count(recording_sampler(r->recording)) == 0)
        return false;
    if (running_ns < LAUNCHER_NS && is_launcher(r))
        return false;
    return !r->command || running_ns >= PYTHON_STARTS_NS || !python_is_starting(r);
}

static void print_headline(const struct record *r)
{
    if (is_launcher(r))
        followed_tell_launcher(r->recording, r->pids[0]);
    else
        report_headline(r->recording);
    const char *growing = outputs_growing_path(r->outputs);
    if (growing)
        terminal_info("the recording grows in %s", growing);
}

static void sample(struct record *r)
{
    int64_t begun_ns = clock_now_ns();
    int64_t end_ns = r->options->duration_ns ? begun_ns + r->options->duration_ns : INT64_MAX;
    bool printed = false;
    for (int64_t now_ns = begun_ns; !is_over(r) && now_ns < end_ns; now_ns = clock_now_ns()) {
        bool due = now_ns >= begun_ns + HEADLINE_AFTER_NS;
        if (!printed && headline_is_due(r, now_ns - begun_ns)) {
            print_headline(r);
            printed = true;
        }
        int64_t next_ns = due ? end_ns : begun_ns + HEADLINE_AFTER_NS;
        int64_t most_ns = (next_ns < end_ns ? next_ns : end_ns) - now_ns;
        (void)recording_follow(r->recording);
        if (recording_work(r->recording))
            rest(r, most_ns);
        else
            wait_for_work(r, most_ns);
        obey_signals(r);
        outputs_look(r->outputs, r->recording);
        steer_look(r->steer);
        if (recording_paused_ns(r->recording) >= 0)
            look_in_pause(r);
        else if (printed && !r->options->no_progress)
            report_progress(r->recording);
        print_rate(r);
        print_room(r);
        if (!r->options->subprocesses)
            unsampled_look(&r->unsampled);
    }
    if (!printed)
        print_headline(r);
}

/* ---- the end ---- */

/* Ticks may have been late because wallspy itself was kept off the CPUs. */
static void report_throttling(struct record *r)
{
    struct throttled now = cgroup_throttled();
    struct profile *p = recording_profile(r->recording);
    if (now.periods <= r->throttled.periods || now.ns < r->throttled.ns)
        return;
    profile_set_number(p, METRIC_THROTTLED_PERIODS, (double)(now.periods - r->throttled.periods));
    profile_set_number(p, METRIC_THROTTLED_S, (double)(now.ns - r->throttled.ns) / NS_PER_S);
}

/* Of a ring the last part of the time is left. */
static void cut_ring(const struct record *r, struct profile *p)
{
    int64_t whole_ns;
    if (!window_cut_ring(p, &r->options->view, &whole_ns))
        return;
    struct text kept = {0};
    text_add_span(&kept, (double)profile_end_ns(p) / NS_PER_S);
    text_add(&kept, " of ");
    text_add_span(&kept, (double)whole_ns / NS_PER_S);
    terminal_info("kept: the last %s (--ring)", kept.s);
    text_release(&kept);
}

static bool have_ended(const struct record *r)
{
    size_t n = 0;
    while (n < r->n_pids && has_ended(r->pids[n]))
        n++;
    return n == r->n_pids;
}

static bool runs_python(const struct profile *p)
{
    for (uint32_t i = 1; i <= profile_process_count(p); i++)
        if (profile_see_process(p, (process_id){i})->python_version.ix)
            return true;
    return false;
}

/* The reason why there is no sample. */
static const char *why_no_sample(const struct record *r)
{
    const struct sampler *sampler = recording_sampler(r->recording);
    const struct profile *p = recording_profile(r->recording);
    if (profile_number(p, METRIC_STACKS_LEFT_OUT) > 0)
        return runs_python(p) ? "no thread held the GIL when it was looked at"
                              : "no CPython was found, so there is no GIL: leave out --gil";
    if (r->options->threads.n && sampler_thread_count(sampler))
        return "no thread matched --thread: wallspy dump shows the names";
    if (signals_stop_wanted())
        return "wallspy was stopped before the first sample";
    if (have_ended(r))
        return "the target ended";
    bool failed = profile_number(p, METRIC_UNREADABLE) > 0 ||
                  profile_number(p, METRIC_REFUSED) > 0 || profile_number(p, METRIC_STUCK) > 0;
    return failed
               ? "nothing of the target could be read: --stats says what failed"
               : "--duration was over before the first sample: a busy machine needs a longer one";
}

/* Names the children that are not sampled, or those that go on when the command has ended. */
static void print_others(struct record *r)
{
    if (!r->options->subprocesses)
        unsampled_report(&r->unsampled, recording_profile(r->recording));
    else if (r->command && !signals_stop_wanted() && has_ended(r->command))
        followed_tell_left(r->recording, r->command);
}

/* Writes the files and says what is in them.  Returns the exit status. */
static int write_and_print(struct record *r, struct profile *p)
{
    if (profile_number(p, METRIC_STACKS_MADE) == 0) {
        terminal_error("no sample was taken: %s.", why_no_sample(r));
        return EXIT_NO_SAMPLE;
    }
    bool whole = true;
    struct explanation explanation;
    int error = outputs_write(r->outputs, r->recording, &explanation);
    r->steer = steer_free(r->steer, error);
    if (error != -ECANCELED) { /* the answer is printed also where there is no room for a file */
        if (*explanation.answer)
            terminal_block(explanation.answer);
        moments_print(p);
        if (r->options->verbose || r->options->stats)
            report_processes(p, &r->options->view);
        whole = quality_report(p) && !r->one_missing;
        print_others(r);
    }
    explanation_release(&explanation);
    if (error < 0)
        return EXIT_FAILED;
    return !whole && r->options->strict ? EXIT_NO_SAMPLE : EXIT_OK;
}

static int finish(struct record *r)
{
    int status;
    steer_shut(r->steer);
    (void)report_discarded(); /* says that it stops */
    if (r->command && sampler_child_status(recording_sampler(r->recording), r->command, &status))
        signals_set_command(0);
    int percent_shown = -1;
    watchdog_expect_end();
    recording_finish(r->recording, report_naming, &percent_shown);
    signals_let_terminal_stop();
    report_throttling(r);
    struct profile *p = recording_profile(r->recording);
    quality_measure(p, &r->options->view);
    cut_ring(r, p);
    bool sampled = profile_number(p, METRIC_STACKS_MADE) > 0;
    if (sampled && r->options->view.no_native && !runs_python(p))
        terminal_warn("no CPython was found: there is nothing to show without native frames; leave "
                      "out --native=off");
    int code = write_and_print(r, p);
    if (r->options->stats || r->options->verbose)
        report_stats(p);
    return code;
}

static int wait_for_command(const struct record *r, int *ret_status)
{
    if (r->recording &&
        sampler_child_status(recording_sampler(r->recording), r->command, ret_status))
        return 0;
    if (r->started && !has_ended(r->command))
        terminal_info("sampling is over; waiting for %s (%d) to end", r->options->argv[0],
                      r->command);
    return launch_wait(r->command, ret_status);
}

/* wallspy exits with the command's own status, whatever became of the sampling. */
static int command_code(struct record *r, int code)
{
    int status = 0;
    int error = wait_for_command(r, &status);
    if (error < 0) {
        terminal_error("cannot learn how %s ended: %s", r->options->argv[0], strerror(-error));
        return EXIT_FAILED;
    }
    if (code != EXIT_OK && r->options->strict)
        return EXIT_STRICT_FAILED;
    return launch_exit_code(status);
}

static int prepare(struct record *r)
{
    signals_open(r->options->argv != NULL);
    int code = outputs_plan(&r->outputs, r->options);
    if (code == EXIT_FAILED && r->options->argv && r->options->strict)
        return EXIT_STRICT_FAILED;
    if (code != EXIT_OK || r->options->argv)
        return code;
    code = targets_check(r->options, &r->pids, &r->n_pids, &r->one_missing);
    return code == EXIT_OK ? thread_check(r->options, r->pids, r->n_pids) : code;
}

int record_main(const struct options *o)
{
    struct record r = {.options = o};
    struct growing_file *growing = outputs_start_growing(o);
    watchdog_start();
    int code = prepare(&r);
    if (o->argv)
        terminal_share();
    if (code == EXIT_OK && o->argv)
        code = launch(&r);
    if (code == EXIT_OK && r.command)
        code = targets_check_command(r.command);
    if (code == EXIT_OK)
        code = outputs_name(r.outputs, r.pids, r.n_pids);
    outputs_grow(r.outputs, growing);
    if (code == EXIT_OK)
        code = start(&r);
    if (code == EXIT_OK) {
        sample(&r);
        code = finish(&r);
        r.steer = steer_free(r.steer, -ENODATA);
    }
    if (r.command && !watchdog_is_child()) /* whose parent waits for it */
        code = command_code(&r, code);
    watchdog_end();
    recording_free(r.recording);
    outputs_free(r.outputs);
    unsampled_release(&r.unsampled);
    free(r.pids);
    return code;
}
