#include "cli/growing_file.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/duty_cycle.h"
#include "base/minmax.h"
#include "base/text.h"
#include "cli/sink_process.h"
#include "cli/terminal.h"
#include "recording/growing.h"
#include "recording/recording_file.h"

enum {
    EVERY_NS = 2000 * NS_PER_MS,
    SOON_NS = 30 * NS_PER_MS, /* where not all was sent, or not all has come yet */
    FIRST_NS = 500 * NS_PER_MS,
    EXTEND_BEFORE_NS = 200 * NS_PER_MS, /* an increment */
    EXTEND_EVERY = 5,                   /* increments, where there are more threads than … */
    FEW_THREADS = 500,
    FACTS_SHARE = 200,       /* of the time is for the facts of processes and machine */
    MOST_BYTES = 4 << 20,    /* that wait for the pipe */
    BYTES_AT_ONCE = 1 << 19, /* made in one look: some 5 ms */
    LOOK_MS = 50,            /* whether it is still wanted */
    GONE_NS = 1000 * NS_PER_MS,
};

struct growing_file {
    struct sink_pipes pipes;
    pid_t pid;
    int pidfd;  /* negative: the kernel has none */
    char *path; /* of the file that it is to become; NULL: none yet */
    char *part; /* while it grows */
    struct growing *growing;
    struct text waiting; /* entries; the first DONE bytes of them are in the pipe */
    size_t done, made;   /* MADE: in this look */
    int64_t next_ns;
    unsigned increments;
    bool opened;   /* there is such a file, and it is ours */
    bool refused;  /* there is one, and it is another's */
    bool extended; /* for the next increment */
    struct duty_cycle facts;
    bool over;   /* nothing more is sent */
    bool closed; /* its process has ended, or ends */
};

/* ---- the process ---- */

/* Its next answer, waited for MS.  False: there is none; CLOSED says whether there may be one. */
static bool hear(struct growing_file *g, int ms, struct sink_answer *ret)
{
    struct pollfd from = {.fd = g->pipes.from, .events = POLLIN};
    if (g->closed || poll(&from, 1, ms) <= 0)
        return false;
    ssize_t n = read(g->pipes.from, ret, sizeof *ret);
    if (n == (ssize_t)sizeof *ret) {
        ret->words[sizeof ret->words - 1] = '\0';
        g->opened |= ret->kind == SINK_OPENED;
        return true;
    }
    g->closed = n >= 0 || (errno != EINTR && errno != EAGAIN);
    return false;
}

struct growing_file *growing_file_start(void)
{
    struct growing_file *g = xcalloc(1, sizeof *g);
    g->pid = sink_process_start(&g->pipes);
    if (g->pid < 0) {
        free(g);
        return NULL;
    }
    g->pidfd = (int)syscall(SYS_pidfd_open, g->pid, 0);
    return g;
}

/* Until it has let go of all that it has, but no longer than a second: its disk may hang.  Does it
 * say that the file is there? */
static bool await_end(struct growing_file *g)
{
    struct sink_answer a;
    bool done = false;
    siginfo_t info = {0};
    int64_t end_ns = clock_now_ns() + GONE_NS;
    while (!g->closed && clock_now_ns() < end_ns)
        if (hear(g, LOOK_MS, &a))
            done = a.kind == SINK_DONE;
    while (g->closed && !info.si_pid && clock_now_ns() < end_ns &&
           waitid(P_PID, (id_t)g->pid, &info, WEXITED | WNOHANG) == 0)
        (void)poll(NULL, 0, 1);
    return done;
}

/* While its end of the pipe is open it lives, and no other process has its number. */
static void kill_process(struct growing_file *g)
{
    struct pollfd from = {.fd = g->pipes.from};
    if (g->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, g->pidfd, SIGKILL, NULL, 0);
    else if (!g->closed && poll(&from, 1, 0) == 0)
        (void)kill(g->pid, SIGKILL);
    (void)await_end(g);
}

static void close_pipe(struct growing_file *g)
{
    if (g->pipes.to >= 0)
        close(g->pipes.to);
    g->pipes.to = -1;
}

/* ---- failures ---- */

/* Once: nothing is sent after it. */
static void be_over(struct growing_file *g)
{
    g->over = true;
    close_pipe(g);
    text_release(&g->waiting);
    g->done = 0;
}

static void say_failed(struct growing_file *g, const struct sink_answer *a)
{
    struct text path = {0};
    struct text has = {0};
    text_add_tame(&path, g->part, strlen(g->part));
    if (a->number)
        text_addf(&has, " It has the first %.1f s.", (double)a->number / NS_PER_S);
    if (a->error == -ENOSPC)
        terminal_warn("%s cannot grow: there is no room on its disk.%s Make room: the whole "
                      "recording is written at the end.",
                      path.s, has.s ? has.s : "");
    else
        terminal_warn("%s cannot grow: %s. The recording is written at the end.", path.s, a->words);
    text_release(&path);
    text_release(&has);
    g->refused = !g->opened;
    be_over(g);
}

static void say_gone(struct growing_file *g)
{
    terminal_warn("the process that writes %s was killed: the recording is written at the end.",
                  g->part ? g->part : "the recording");
    be_over(g);
}

/* Of one whose process was killed early nobody knows whether it made it; if so, it is locked by
 * nobody. */
static void remove_part(const struct growing_file *g)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    bool ours = g->opened || (!g->refused && !recording_part_grows(g->part));
    for (size_t i = 0; ours && i < sizeof ends / sizeof *ends; i++) {
        char *name = xasprintf("%s%s", g->part, ends[i]);
        (void)unlink(name);
        free(name);
    }
}

/* The process is killed first: it would publish what it has once the pipe is closed. */
static void drop(struct growing_file *g)
{
    kill_process(g);
    be_over(g);
    remove_part(g);
}

/* What the process has said meanwhile, or that it is gone. */
static void look_at_answers(struct growing_file *g)
{
    struct sink_answer a;
    while (!g->over && hear(g, 0, &a))
        if (a.kind == SINK_FAILED)
            say_failed(g, &a);
    if (!g->over && g->closed)
        say_gone(g);
}

/* ---- sending ---- */

static void take(void *ctx, const char *entry, size_t len)
{
    struct growing_file *g = ctx;
    text_add_bytes(&g->waiting, entry, len);
    g->made += len;
}

static bool has_room(void *ctx)
{
    const struct growing_file *g = ctx;
    return g->made < BYTES_AT_ONCE && g->waiting.len - g->done < MOST_BYTES;
}

/* As much as the pipe takes now. */
static void fill_pipe(struct growing_file *g)
{
    while (g->done < g->waiting.len) {
        ssize_t n = write(g->pipes.to, g->waiting.s + g->done, g->waiting.len - g->done);
        if (n <= 0 && errno != EINTR)
            break; /* full; or it is gone, which its answers say */
        g->done += n > 0 ? (size_t)n : 0;
    }
    if (g->done == g->waiting.len) {
        text_clear(&g->waiting);
        g->done = 0;
    } else if (g->done > MOST_BYTES / 4) {
        memmove(g->waiting.s, g->waiting.s + g->done, g->waiting.len - g->done);
        text_truncate(&g->waiting, g->waiting.len - g->done);
        g->done = 0;
    }
}

void growing_file_open(struct growing_file *g, const struct output_target *t)
{
    g->part = xasprintf("%s%s", t->path, recording_part_suffix);
    g->path = xstrdup(t->path);
    size_t begun = entry_begin(&g->waiting, ENTRY_OPEN);
    entry_add_string(&g->waiting, t->path);
    entry_add_number(&g->waiting, t->is_new);
    entry_end(&g->waiting, begun, 2);
    fill_pipe(g);
}

bool growing_file_is_of(const struct growing_file *g, const struct output_target *t)
{
    return g && g->path && str_eq(g->path, t->path);
}

const char *growing_file_path(const struct growing_file *g)
{
    return g && g->path && !g->over ? g->part : NULL;
}

static void tell_facts(struct growing_file *g, struct recording *r)
{
    if (!duty_cycle_begin(&g->facts))
        return;
    recording_tell(r);
    duty_cycle_end(&g->facts, FACTS_SHARE, EVERY_NS);
}

/* A thread's present sample counts as far as it has held: else the file would have nothing of one
 * that sleeps for hours.  The sampler's messages come a little later. */
static void extend_samples(struct growing_file *g, struct sampler *s, int64_t now_ns)
{
    bool often = sampler_thread_count(s) <= FEW_THREADS;
    if (g->extended || now_ns < g->next_ns - EXTEND_BEFORE_NS)
        return;
    g->extended = true;
    if (!often && g->increments % EXTEND_EVERY != 0)
        return;
    sampler_flush(s);
    g->next_ns = max_i64(g->next_ns, now_ns + SOON_NS);
}

static void send_new(struct growing_file *g, struct recording *r, int64_t now_ns)
{
    if (!g->growing)
        g->growing = growing_new(recording_profile(r), (struct sink_to){take, g});
    tell_facts(g, r);
    g->made = 0;
    bool all = growing_send(g->growing, recording_elapsed_ns(r), has_room, g);
    g->next_ns = now_ns + (all ? EVERY_NS : SOON_NS);
    g->increments += all;
    g->extended = !all;
}

void growing_file_look(struct growing_file *g, struct recording *r)
{
    if (!g || !g->path || g->over)
        return;
    int64_t now_ns = clock_now_ns();
    fill_pipe(g);
    look_at_answers(g);
    if (g->over)
        return;
    if (!g->next_ns)
        g->next_ns = now_ns + FIRST_NS;
    extend_samples(g, recording_sampler(r), now_ns);
    if (now_ns < g->next_ns)
        return;
    send_new(g, r, now_ns);
    fill_pipe(g);
}

/* ---- the end ---- */

/* Waits until all that waits is in the pipe.  False: it was cancelled, or the process is gone. */
static bool drain(struct growing_file *g, bool (*cancelled)(void))
{
    struct pollfd to = {.fd = g->pipes.to, .events = POLLOUT};
    for (fill_pipe(g); g->waiting.len; fill_pipe(g)) {
        if (cancelled())
            return false;
        look_at_answers(g);
        if (g->over)
            return false;
        (void)poll(&to, 1, LOOK_MS);
    }
    return true;
}

static bool send_rest(struct growing_file *g, const struct profile *p, bool (*cancelled)(void))
{
    bool all = false;
    if (!g->growing)
        g->growing = growing_new(p, (struct sink_to){take, g});
    while (!all) {
        g->made = 0;
        all = growing_send(g->growing, profile_end_ns(p), has_room, g);
        if (!drain(g, cancelled))
            return false;
    }
    growing_end(g->growing, profile_end_ns(p));
    return drain(g, cancelled);
}

static bool is_done(const struct sink_answer *a)
{
    return a->kind == SINK_DONE || a->kind == SINK_KEPT;
}

int growing_file_end(struct growing_file *g, const struct profile *p, bool (*cancelled)(void),
                     int64_t *ret_bytes, bool *ret_kept, struct err *err)
{
    struct sink_answer a = {.kind = SINK_FAILED};
    *ret_kept = false;
    if (g->over)
        return -EPIPE;
    bool sent = send_rest(g, p, cancelled);
    while (sent && !g->over && !g->closed && !cancelled() &&
           (!hear(g, LOOK_MS, &a) || a.kind == SINK_OPENED))
        ;
    if (cancelled() && !is_done(&a)) {
        drop(g);
        return err_set(err, -ECANCELED, "cannot write %s: %s", g->path, strerror(ECANCELED));
    }
    if (!g->over && is_done(&a)) {
        be_over(g);
        (void)await_end(g);
        *ret_bytes = a.number;
        *ret_kept = a.kind == SINK_KEPT;
        return a.kind == SINK_DONE ? 0 : err_set(err, a.error, "%s", a.words);
    }
    if (!g->over && sent && !g->closed)
        say_failed(g, &a);
    else if (!g->over)
        say_gone(g);
    return -EPIPE;
}

void growing_file_remove(struct growing_file *g)
{
    if (g && g->path)
        drop(g);
}

const char *growing_file_keep(struct growing_file *g)
{
    if (!g || !g->path || g->over || !g->opened)
        return NULL;
    be_over(g);
    bool done = await_end(g);
    return done ? g->path : access(g->part, F_OK) == 0 ? g->part : NULL;
}

struct growing_file *growing_file_free(struct growing_file *g)
{
    if (!g)
        return NULL;
    if (g->path && !g->over)
        drop(g);
    close_pipe(g);
    (void)await_end(g);
    close(g->pipes.from);
    if (g->pidfd >= 0)
        close(g->pidfd);
    growing_free(g->growing);
    text_release(&g->waiting);
    free(g->path);
    free(g->part);
    free(g);
    return NULL;
}
