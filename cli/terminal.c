#include "cli/terminal.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum { PROGRESS_INTERVAL_MS = 500, MESSAGE_BYTES = 8192 };
static const char prefix[] = "wallspy: ";
static const char erase_line[] = "\r\033[K";

enum paint { PAINT_NONE, PAINT_WARNING, PAINT_ERROR };
static const char *const paints[] = {
    [PAINT_NONE] = "\033[1m", [PAINT_WARNING] = "\033[1;33m", [PAINT_ERROR] = "\033[1;31m"};

/* One per process, as stderr is. */
static struct {
    pthread_mutex_t lock;
    bool live, color, quiet;
    bool progress_shown;
    int64_t progress_ns; /* when it was last written; 0: never */
    int data_fd;         /* where information and blocks go to */
    int lost;            /* errno of what did not get there */
} terminal = {.lock = PTHREAD_MUTEX_INITIALIZER, .data_fd = STDERR_FILENO};

static void sink(const char *line)
{
    terminal_warn("%s", line);
}

void terminal_open(enum color_when color, bool quiet)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    bool capable = isatty(STDERR_FILENO) && term && *term && !str_eq(term, "dumb");
    terminal.quiet = quiet;
    terminal.live = capable && !quiet;
    terminal.color =
        color == COLOR_ALWAYS || (color == COLOR_AUTO && capable && !(no_color && *no_color));
    log_set_sink(sink);
}

void terminal_to_stdout(enum color_when color)
{
    terminal.data_fd = STDOUT_FILENO;
    terminal.quiet = terminal.live = false;
    terminal.color &= color == COLOR_ALWAYS || isatty(STDOUT_FILENO);
}

int terminal_lost(void)
{
    return terminal.lost;
}

void terminal_share(void)
{
    terminal.live = false;
}

bool terminal_is_live(void)
{
    return terminal.live;
}

int terminal_width(void)
{
    struct winsize size;
    if (ioctl(terminal.data_fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return TERMINAL_TEXT_WIDTH;
}

int terminal_data_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > TERMINAL_TEXT_WIDTH)
        return size.ws_col;
    return TERMINAL_TEXT_WIDTH;
}

/* Line ends in S are wallspy's own, because the caller has tamed the names in it. */
static void add_lines(struct text *out, const char *s)
{
    while (*s) {
        size_t len = strcspn(s, "\n");
        text_add_tame(out, s, len);
        s += len;
        if (*s)
            text_add_bytes(out, s++, 1);
    }
}

/* In one write, so that lines of several processes do not mix.  A failure of stderr cannot be
 * reported anywhere. */
static void put(int fd, const struct text *t)
{
    size_t done = 0;
    while (done < t->len) {
        ssize_t n = write(fd, t->s + done, t->len - done);
        if (n <= 0) {
            terminal.lost = errno ? errno : EIO;
            return;
        }
        done += (size_t)n;
    }
}

static void put_over_progress(int fd, const struct text *t)
{
    pthread_mutex_lock(&terminal.lock);
    struct text all = {0};
    if (terminal.progress_shown)
        text_add(&all, erase_line);
    terminal.progress_shown = false;
    text_add_bytes(&all, t->s, t->len);
    put(fd, &all);
    pthread_mutex_unlock(&terminal.lock);
    text_release(&all);
}

static void say(enum paint paint, size_t indent, const char *kind, const char *format, va_list args)
{
    char message[MESSAGE_BYTES];
    int n = snprintf(message, sizeof message, "%s", kind);
    (void)vsnprintf(message + n, sizeof message - (size_t)n, format, args);
    struct text tame = {0};
    struct text t = {0};
    add_lines(&tame, message);
    text_addf(&t, terminal.color ? "%s%s\033[m" : "%.0s%s", paints[paint], prefix);
    (void)text_add_wrapped(&t, tame.len ? tame.s : "", sizeof prefix - 1, indent,
                           TERMINAL_TEXT_WIDTH);
    text_add(&t, "\n");
    put_over_progress(paint == PAINT_NONE ? terminal.data_fd : STDERR_FILENO, &t);
    text_release(&t);
    text_release(&tame);
}

void terminal_info(const char *format, ...)
{
    if (terminal.quiet)
        return;
    va_list args;
    va_start(args, format);
    say(PAINT_NONE, sizeof prefix - 1, "", format, args);
    va_end(args);
}

void terminal_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(PAINT_WARNING, 0, "warning: ", format, args);
    va_end(args);
}

void terminal_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(PAINT_ERROR, 0, "", format, args);
    va_end(args);
}

void terminal_lines(const char *lines)
{
    struct text t = {0};
    add_lines(&t, lines);
    put_over_progress(terminal.data_fd, &t);
    text_release(&t);
}

void terminal_block(const char *lines)
{
    if (!terminal.quiet)
        terminal_lines(lines);
}

/* In the background the line would be drawn over what the user types at the shell. */
static bool in_foreground(void)
{
    pid_t group = tcgetpgrp(STDERR_FILENO);
    return group < 0 || group == getpgrp(); /* -1: a terminal of another session */
}

void terminal_progress(const char *line)
{
    int64_t now = clock_now_ns();
    if (!terminal.live || !in_foreground() ||
        (terminal.progress_ns &&
         now - terminal.progress_ns < (int64_t)PROGRESS_INTERVAL_MS * NS_PER_MS))
        return;
    struct text t = {0};
    text_add(&t, "");
    text_add_tame(&t, line, strlen(line));
    /* One column is left free: a full line makes some terminals wrap. */
    t.len = utf8_cut(t.s, t.len, (size_t)terminal_width() - 1);
    struct text all = {0};
    text_add(&all, erase_line);
    text_add_bytes(&all, t.s, t.len);
    pthread_mutex_lock(&terminal.lock);
    terminal.progress_ns = now;
    terminal.progress_shown = true;
    put(STDERR_FILENO, &all);
    pthread_mutex_unlock(&terminal.lock);
    text_release(&all);
    text_release(&t);
}
