/* Stderr is a pseudo-terminal or a pipe; what arrives at the other end is compared. */
#include "cli/terminal.h"

#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/support/check_main.h"

static int reader;

static void stderr_to_pipe(void)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    reader = ends[0];
    (void)dup2(ends[1], STDERR_FILENO);
}

static void stderr_to_terminal(unsigned short columns)
{
    int slave = 0;
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    ck_assert_int_eq(openpty(&reader, &slave, NULL, NULL, &size), 0);
    struct termios settings;
    ck_assert_int_eq(tcgetattr(slave, &settings), 0);
    settings.c_oflag &= ~(tcflag_t)OPOST;
    ck_assert_int_eq(tcsetattr(slave, TCSANOW, &settings), 0);
    (void)dup2(slave, STDERR_FILENO);
    (void)setenv("TERM", "xterm", 1);
    (void)unsetenv("NO_COLOR");
}

static void expect(const char *wanted)
{
    char buf[1024] = "";
    ck_assert_int_ge(read(reader, buf, sizeof buf - 1), 0);
    ck_assert_str_eq(buf, wanted);
}

START_TEST(a_pipe_gets_plain_lines)
{
    stderr_to_pipe();
    terminal_open(COLOR_AUTO, false);
    ck_assert(!terminal_is_live());
    ck_assert_int_eq(terminal_width(), 79);
    terminal_progress("never seen");
    terminal_info(
        "sampling 6823 (python3 train.py, CPython 3.12.7), 63 threads (1 Python), 100 Hz");
    expect("wallspy: sampling 6823 (python3 train.py, CPython 3.12.7), 63 threads (1\n"
           "         Python), 100 Hz\n");
    terminal_error("cannot:\n  next time  do");
    expect("wallspy: cannot:\n  next time  do\n");
    log_warn("key", "%s", "evil \033[2Jname\t\xc2\x9b");
    log_warn("key", "twice");
    expect("wallspy: warning: evil ?[2Jname??\n");
    terminal_block("  a\n  b\r\n");
    expect("  a\n  b?\n");
}
END_TEST

START_TEST(quiet_keeps_warnings_and_errors)
{
    stderr_to_pipe();
    terminal_open(COLOR_AUTO, true);
    terminal_info("information");
    terminal_block("a table\n");
    terminal_warn("w");
    terminal_error("e");
    expect("wallspy: warning: w\nwallspy: e\n");
}
END_TEST

START_TEST(progress_is_cut_and_written_over)
{
    stderr_to_terminal(12);
    terminal_open(COLOR_NEVER, false);
    ck_assert(terminal_is_live());
    ck_assert_int_eq(terminal_width(), 12);
    terminal_progress("\xc3\xa4\xc3\xb6\xc3\xbc 4567890123456");
    expect("\r\033[K\xc3\xa4\xc3\xb6\xc3\xbc 4567890");
    terminal_progress("too soon");
    terminal_warn("w");
    expect("\r\033[Kwallspy: warning: w\n");
    terminal_warn("v");
    expect("wallspy: warning: v\n");
}
END_TEST

START_TEST(colour_is_for_terminals)
{
    stderr_to_terminal(80);
    terminal_open(COLOR_AUTO, false);
    terminal_error("e");
    expect("\033[1;31mwallspy: \033[me\n");
    (void)setenv("NO_COLOR", "1", 1);
    terminal_open(COLOR_AUTO, false);
    terminal_error("e");
    expect("wallspy: e\n");
    terminal_open(COLOR_ALWAYS, false);
    terminal_error("e");
    expect("\033[1;31mwallspy: \033[me\n");
    (void)setenv("TERM", "dumb", 1);
    terminal_open(COLOR_AUTO, false);
    ck_assert(!terminal_is_live());
}
END_TEST

CHECK_MAIN("terminal", 20, a_pipe_gets_plain_lines, quiet_keeps_warnings_and_errors,
           progress_is_cut_and_written_over, colour_is_for_terminals)
