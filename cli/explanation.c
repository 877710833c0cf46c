#include "cli/explanation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "exporter/findings_block.h"

enum {
    LOOK_MS = 50, /* whether it is still wanted */
    MOST_S = 60,
    MOST_HANGING_S = 1,
    MOST_BYTES = 1 << 26,
};
static const char hangs[] = "hang";

/* ---- the child ---- */

/* WALLSPY_EXPLAIN=crash or =hang: for a test. */
static const char *wanted_fault(void)
{
    const char *fault = getenv("WALLSPY_EXPLAIN");
    return fault ? fault : "";
}

static void obey_test(void)
{
    if (str_eq(wanted_fault(), "crash"))
        abort();
    while (str_eq(wanted_fault(), hangs))
        (void)pause();
}

/* Each text ends in a NUL: the findings of each view, then the answer, and then an empty one, which
 * says that all are there. */
static void explain(const struct explanation_request *request, FILE *out)
{
    struct text answer = {0};
    text_add(&answer, "");
    for (size_t i = 0; i < request->n_views; i++) {
        struct groups groups;
        struct findings findings;
        groups_init(&groups, request->p, &request->views[i]);
        findings_init(&findings, &groups);
        (void)findings_block_write(&findings, out);
        (void)fputc('\0', out);
        if (i == 0)
            report_add_answer(&groups, &findings, request->verbose, &answer);
        findings_release(&findings);
        groups_release(&groups);
    }
    (void)fwrite(answer.s, 1, answer.len + 1, out);
    (void)fputc('\0', out);
    text_release(&answer);
}

/* The answer to no signal is this one's: all are blocked. */
static _Noreturn void be_child(const struct explanation_request *request, int fd)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "wallspy-explain");
    FILE *out = fdopen(fd, "w");
    if (!out)
        _exit(EXIT_FAILURE);
    obey_test();
    explain(request, out);
    _exit(fclose(out) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- the parent ---- */

/* Without memory of the target's being read meanwhile: a copied address space makes the sampler's
 * thread fault.  Returns the child, and the end of its pipe in *RET_FD; or a negative errno. */
static pid_t start(const struct explanation_request *request, int *ret_fd)
{
    int fds[2];
    sigset_t all;
    sigset_t old;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    sigfillset(&all);
    bool paused = request->running && sampler_pause(request->running);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        be_child(request, fds[1]);
    }
    int error = errno;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (paused)
        sampler_resume(request->running);
    close(fds[1]);
    *ret_fd = fds[0];
    if (child > 0)
        return child;
    close(fds[0]);
    return -error;
}

/* Reads all that comes through FD.  Returns 0, or a negative errno: -ETIMEDOUT, -ECANCELED. */
static int collect(const struct explanation_request *request, int fd, struct text *ret)
{
    int most_s = str_eq(wanted_fault(), hangs) ? MOST_HANGING_S : MOST_S;
    int64_t end_ns = clock_now_ns() + most_s * (int64_t)NS_PER_S;
    while (clock_now_ns() < end_ns && ret->len < MOST_BYTES) {
        char part[1 << 14];
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (request->cancelled && request->cancelled())
            return -ECANCELED;
        if (poll(&ready, 1, LOOK_MS) <= 0)
            continue;
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return 0;
        text_add_bytes(ret, part, n > 0 ? (size_t)n : 0);
    }
    return -ETIMEDOUT;
}

/* The sampler's thread takes the ends of all children, so that this one's may be lost. */
static void add_end(pid_t child, struct text *why)
{
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)child, &info, WEXITED) < 0 && errno == EINTR)
        ;
    if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
        text_add(why, strsignal(info.si_status));
    else
        text_add(why, "it ended early");
}

/* Points into BYTES.  False: not all of the texts are there. */
static bool take_texts(struct explanation *e, size_t n_views, struct text *bytes)
{
    const char *at = bytes->s;
    const char *end = bytes->s + bytes->len;
    for (size_t i = 0; i < n_views + 2; i++) {
        const char *next = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
        if (!next)
            return false;
        if (i < n_views)
            e->findings[i].json = at;
        else if (i == n_views)
            e->answer = at;
        at = next + 1;
    }
    e->bytes = bytes->s;
    *bytes = (struct text){0};
    return true;
}

static void say_failed(struct explanation *e, size_t n_views)
{
    e->answer = "";
    for (size_t i = 0; i < n_views; i++)
        e->findings[i] = (struct export_findings){.why = e->why};
    terminal_warn("no findings and no table: what explains the recording failed (%s). The "
                  "recording is whole. Please report this.",
                  e->why);
}

void explanation_make(struct explanation *e, const struct explanation_request *request)
{
    struct text bytes = {0};
    struct text why = {0};
    int fd = -1;
    *e = (struct explanation){.answer = ""};
    e->findings = xcalloc(request->n_views, sizeof *e->findings);
    (void)fflush(NULL); /* once, not twice */
    pid_t child = start(request, &fd);
    int error = child > 0 ? collect(request, fd, &bytes) : child;
    if (child > 0) {
        close(fd);
        if (error < 0)
            (void)kill(child, SIGKILL);
        add_end(child, &why);
    }
    if (error == 0 && take_texts(e, request->n_views, &bytes))
        text_clear(&why);
    else if (error == -ETIMEDOUT)
        e->why = xstrdup("it took too long");
    else
        e->why = xstrdup(error < 0 ? strerror(-error) : why.s);
    if (e->why && error != -ECANCELED)
        say_failed(e, request->n_views);
    text_release(&why);
    text_release(&bytes);
}

void explanation_release(struct explanation *e)
{
    free(e->findings);
    free(e->bytes);
    free(e->why);
    *e = (struct explanation){0};
}
