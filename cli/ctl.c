#include "cli/ctl.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/ctl_folder.h"
#include "cli/ctl_request.h"
#include "cli/exit_codes.h"
#include "cli/terminal.h"

enum {
    LIST_MS = 2000,   /* for an answer to a list */
    ANSWER_MS = 8000, /* for one that a recording gives at once, or after 5 s at most */
    MOST_ANSWER_BYTES = 1 << 20,
};

/* A running recording. */
struct running {
    int folder;    /* borrowed */
    pid_t pid;     /* wallspy's own */
    bool is_asked; /* by the process id of the command line */
    struct text brief;
};
struct found {
    int folders[CTL_FOLDERS];
    size_t n_folders;
    struct running *items;
    size_t n, capacity;
    size_t n_asked;
};

/* ---- one question ---- */

static bool send_line(int fd, const char *line)
{
    struct text t = {0};
    text_addf(&t, "%s\n", line);
    bool sent = send(fd, t.s, t.len, MSG_NOSIGNAL) == (ssize_t)t.len;
    text_release(&t);
    return sent;
}

/* Reads all that comes.  False: not to the end within TIMEOUT_MS (−1: any time). */
static bool read_answer(int fd, int timeout_ms, struct text *ret)
{
    char bytes[4096];
    int64_t end_ns = clock_now_ns() + timeout_ms * (int64_t)NS_PER_MS;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (ret->len < MOST_ANSWER_BYTES) {
        int64_t left_ms = (end_ns - clock_now_ns()) / NS_PER_MS + 1;
        int r = poll(&ready, 1, timeout_ms < 0 ? -1 : left_ms > 0 ? (int)left_ms : 0);
        if (r == 0 || (r < 0 && errno != EINTR))
            return false;
        ssize_t n = r < 0 ? -1 : recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return true;
        text_add_bytes(ret, bytes, n > 0 ? (size_t)n : 0);
    }
    return false;
}

/* Takes the last line off ANSWER.  Returns 0, or −1 with what is wrong. */
static int take_verdict(struct text *answer, struct err *err)
{
    size_t len = answer->len && answer->s[answer->len - 1] == '\n' ? answer->len - 1 : 0;
    size_t start = len;
    while (start && answer->s[start - 1] != '\n')
        start--;
    if (!len)
        return err_set(err, -1, "the recording ended before it answered");
    text_truncate(answer, len);
    const char *last = answer->s + start;
    int r = 0;
    if (str_starts(last, CTL_ERROR))
        r = err_set(err, -1, "%s", last + strlen(CTL_ERROR));
    else if (!str_eq(last, CTL_OK))
        r = err_set(err, -1, "the recording ended while it answered");
    text_truncate(answer, start);
    return r;
}

/* Asks the recording of wallspy's process PID.  Returns 0 with the lines of its answer, −1 with its
 * error, or what ctl_connect() returned. */
static int ask(int folder, pid_t pid, const char *line, int timeout_ms, struct text *ret,
               struct err *err)
{
    int fd = ctl_connect(folder, pid);
    if (fd < 0)
        return err_set(err, fd, "wallspy %d cannot be asked: %s", pid, strerror(-fd));
    bool answered = send_line(fd, line) && read_answer(fd, timeout_ms, ret);
    close(fd);
    if (!answered)
        return err_set(err, -1, "wallspy %d does not answer: it is writing, or stopped", pid);
    return take_verdict(ret, err);
}

/* ---- which are there ---- */

/* Is PID in LINES, which have a number each? */
static bool has_pid(const char *lines, pid_t pid)
{
    char line[16];
    (void)snprintf(line, sizeof line, "%d\n", pid);
    while (*lines && !str_starts(lines, line)) {
        lines += strcspn(lines, "\n");
        lines += *lines == '\n';
    }
    return *lines != '\0';
}

/* Adds the recording of wallspy's process PID, if it is one; ASKED: a process, 0: any. */
static void add_running(struct found *f, int folder, pid_t pid, pid_t asked)
{
    struct err err = {0};
    struct text targets = {0};
    struct running r = {.folder = folder, .pid = pid};
    int error = ask(folder, pid, ctl_word(CTL_TARGETS), LIST_MS, &targets, &err);
    if (error == -ECONNREFUSED || error == -ENOENT)
        return; /* it has ended */
    r.is_asked = !asked || asked == pid || (targets.s && has_pid(targets.s, asked));
    if (error == 0)
        error = ask(folder, pid, ctl_word(CTL_BRIEF), LIST_MS, &r.brief, &err);
    if (error < 0) {
        text_clear(&r.brief);
        text_addf(&r.brief, "%s\n", err.text);
    }
    text_release(&targets);
    f->n_asked += r.is_asked;
    f->items = array_reserve(f->items, &f->capacity, f->n + 1, sizeof *f->items);
    f->items[f->n++] = r;
}

static void find_recordings(struct found *f, pid_t asked)
{
    struct ctl_folders folders;
    struct err unused;
    *f = (struct found){.n = 0};
    ctl_folders_init(&folders);
    for (size_t i = 0; i < folders.n; i++) {
        pid_t *pids = NULL;
        int folder = ctl_folder_open(folders.paths[i], false, &unused);
        if (folder < 0)
            continue;
        f->folders[f->n_folders++] = folder;
        size_t n = ctl_sockets(folder, &pids);
        for (size_t k = 0; k < n; k++)
            add_running(f, folder, pids[k], asked);
        free(pids);
    }
    ctl_folders_release(&folders);
}

static void release(struct found *f)
{
    for (size_t i = 0; i < f->n; i++)
        text_release(&f->items[i].brief);
    for (size_t i = 0; i < f->n_folders; i++)
        close(f->folders[i]);
    free(f->items);
}

/* Appends a line for each; ASKED: only those that are. */
static void add_list(const struct found *f, bool asked, struct text *out)
{
    for (size_t i = 0; i < f->n; i++)
        if (!asked || f->items[i].is_asked)
            text_addf(out, "  %s", f->items[i].brief.s);
}

/* ---- the command ---- */

static int print_lines(const char *lines)
{
    bool printed = fputs(lines, stdout) >= 0 && fflush(stdout) == 0;
    return printed ? EXIT_OK : EXIT_FAILED;
}

static int list(const struct found *f)
{
    struct text lines = {0};
    int code = EXIT_OK;
    for (size_t i = 0; i < f->n; i++)
        text_add(&lines, f->items[i].brief.s);
    if (f->n)
        code = print_lines(lines.s);
    else
        terminal_info("no recording of yours runs");
    text_release(&lines);
    return code;
}

/* The one that is asked; NULL: none or several, which is said. */
static const struct running *only(const struct found *f, pid_t pid, int *ret_code)
{
    struct text others = {0};
    const struct running *ret = NULL;
    for (size_t i = 0; i < f->n; i++)
        if (f->items[i].is_asked)
            ret = &f->items[i];
    *ret_code = f->n_asked ? EXIT_USAGE : EXIT_NO_PROCESS;
    add_list(f, f->n_asked > 1, &others);
    if (!f->n)
        terminal_error("no recording of yours runs");
    else if (!f->n_asked)
        terminal_error("no recording of %d runs. These do:\n%s", pid, others.s);
    else if (f->n_asked > 1)
        terminal_error("several recordings run: say which, by its target or by wallspy's own "
                       "process id.\n%s",
                       others.s);
    text_release(&others);
    return f->n_asked == 1 ? ret : NULL;
}

static int steer(const struct found *f, pid_t pid, const char *line, enum ctl_verb verb)
{
    int code;
    struct err err = {0};
    struct text answer = {0};
    const struct running *r = only(f, pid, &code);
    if (!r)
        return code;
    bool writes = verb == CTL_SNAPSHOT || verb == CTL_STOP;
    int error = ask(r->folder, r->pid, line, writes ? -1 : ANSWER_MS, &answer, &err);
    code = answer.len ? print_lines(answer.s) : EXIT_OK;
    if (error < 0) {
        terminal_error("%s", err.text);
        code = EXIT_FAILED;
    }
    text_release(&answer);
    return code;
}

/* The words behind the process id as one line; none: "". */
static void join_words(char *const *words, bool json, struct text *ret)
{
    text_add(ret, "");
    for (; *words; words++)
        text_addf(ret, "%s%s", ret->len ? " " : "", *words);
    if (json)
        text_add(ret, " --json");
}

/* *WORDS: the words of the command line, of which it takes the process id; 0: there is none. */
static pid_t take_pid(char *const **words)
{
    int64_t pid = 0;
    if (!*words || !**words || parse_whole_i64(**words, 1, INT_MAX, &pid) < 0)
        return 0;
    (*words)++;
    return (pid_t)pid;
}

int ctl_main(const struct options *o)
{
    static char *const none[] = {NULL};
    char *const *words = o->argv ? o->argv : none;
    struct ctl_request request;
    struct text line = {0};
    struct found found;
    pid_t pid = take_pid(&words);
    bool lists = !*words && !pid && !o->json;
    join_words(words, o->json, &line);
    char *copy = xstrdup(line.s);
    const char *wrong = lists ? NULL : ctl_request_parse(&request, copy, strlen(copy));
    int code = EXIT_USAGE;
    if (strchr(line.s, '\n'))
        wrong = "no line end may stand in it";
    if (wrong) {
        terminal_error("ctl: %s: %s", *words ? *words : "''", wrong);
    } else {
        find_recordings(&found, pid);
        code = lists ? list(&found) : steer(&found, pid, line.s, request.verb);
        release(&found);
    }
    free(copy);
    text_release(&line);
    return code;
}
