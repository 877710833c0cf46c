/* The program: reads the command line and hands over to a command. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/machine.h"
#include "base/log.h"
#include "base/own_stack.h"
#include "cli/ctl.h"
#include "cli/doctor.h"
#include "cli/dump.h"
#include "cli/exit_codes.h"
#include "cli/export.h"
#include "cli/hints.h"
#include "cli/known_file.h"
#include "cli/options.h"
#include "cli/pyspy.h"
#include "cli/record.h"
#include "cli/report_command.h"
#include "cli/standby.h"
#include "cli/terminal.h"
#include "cli/watchdog.h"
#include "target/elf_guard.h"

static int (*const commands[COMMAND_COUNT])(const struct options *o) = {
    [COMMAND_RECORD] = record_main,
    [COMMAND_DUMP] = dump_main,
    [COMMAND_STANDBY] = standby_main,
    [COMMAND_DOCTOR] = doctor_main,
    [COMMAND_REPORT] = report_command_main,
    [COMMAND_EXPORT] = export_main,
    [COMMAND_CTL] = ctl_main,
    [COMMAND_INSTALL_PY_SPY] = pyspy_install_main,
};

/* Output that the user asked for goes to stdout; if it is lost wallspy fails. */
static int print_asked(struct text *t)
{
    bool printed = fputs(t->s, stdout) >= 0 && fflush(stdout) == 0;
    text_release(t);
    return printed ? EXIT_OK : EXIT_FAILED;
}

static int print_usage(void)
{
    struct text t = {0};
    options_usage(&t);
    (void)fputs(t.s, stderr);
    text_release(&t);
    return EXIT_USAGE;
}

static int run(const struct options *o, enum options_result result, const struct err *err)
{
    struct text t = {0};
    switch (result) {
    case OPTIONS_RUN:
        if (o->argv && o->command != COMMAND_CTL && hints_recording(o->argv[0]))
            return EXIT_USAGE;
        return pyspy_exit_code(o, commands[o->command](o));
    case OPTIONS_NAME:
        if (!hints_recording(o->process_name))
            hints_processes(o->process_name);
        return EXIT_USAGE;
    case OPTIONS_HELP:
        options_help(o->command, &t);
        return print_asked(&t);
    case OPTIONS_VERSION:
        text_add(&t, o->as_py_spy ? pyspy_version : "wallspy " WALLSPY_VERSION "\n");
        return print_asked(&t);
    case OPTIONS_USAGE:
        return print_usage();
    case OPTIONS_BAD:
        terminal_error("%s", err->text);
        return EXIT_USAGE;
    }
    return EXIT_FAILED;
}

/* A closed standard stream must not become a file of ours, because messages would then be written
 * into that file.  An O_PATH handle takes the place: writing to it fails, as to a closed one. */
static void occupy_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/", O_PATH | O_CLOEXEC); /* the lowest that is free */
}

static int run_program(int argc, char **argv)
{
    if (machine_refusal()) {
        terminal_error("%s", machine_refusal());
        return EXIT_FAILED;
    }
    if (watchdog_is_waiter(argc, argv))
        return watchdog_wait(argv);
    struct options o;
    struct err err = {0};
    enum options_result result = options_parse(&o, argc, argv, &err);
    bool explains = o.command == COMMAND_RECORD || o.command == COMMAND_DUMP ||
                    o.command == COMMAND_REPORT || o.command == COMMAND_EXPORT;
    if (result == OPTIONS_RUN && explains && known_file_add_usual(&o, &err) < 0)
        result = OPTIONS_BAD;
    if (o.command != COMMAND_STANDBY) /* which leaves all to its command */
        occupy_closed_streams();
    terminal_open(o.color, o.quiet);
    if (!trace_enable(getenv("WALLSPY_TRACE")))
        terminal_warn("WALLSPY_TRACE takes merge, sym, wait or all");
    /* A library may be overwritten while it is mapped: the SIGBUS must not end wallspy. */
    (void)elf_guard_install();
    int code = run(&o, result, &err);
    log_end();
    options_release(&o);
    return code;
}

int main(int argc, char **argv)
{
    int code = own_stack_run(run_program, argc, argv);
    if (code < 0)
        terminal_error("no memory for a stack: the limit (ulimit -s, ulimit -v) is too low for "
                       "wallspy.");
    return code < 0 ? EXIT_FAILED : code;
}
