#include "cli/pyspy_args.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/option_line.h"

static struct options good(const char *line)
{
    struct options o;
    struct err err;
    enum options_result result = parse_option_line(&o, "/usr/bin/py-spy", line, &err);
    ck_assert_msg(result == OPTIONS_RUN, "%s: %d %s", line, result, err.text);
    ck_assert(o.as_py_spy);
    return o;
}

START_TEST(callers_lines_run_as_they_stand)
{
    static const char *const lines[] = {"dump|--pid|1234",
                                        "dump|-p|1234",
                                        "dump|--native|--pid|1234",
                                        "dump|--pid=1234|-j",
                                        "d|-p1234",
                                        "dump|-p=1234",
                                        "dump|--pid|1234|--json|--native|--nonblocking",
                                        "dump|-p|0x4d2|-ll|--full-filenames"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct options o = good(lines[i]);
        ck_assert_int_eq(o.command, COMMAND_DUMP);
        ck_assert_uint_eq(o.n_pids, 1);
        ck_assert_int_eq(o.pids[0], 1234);
        ck_assert(o.quiet && !o.view.no_python);
        options_release(&o);
    }
}
END_TEST

START_TEST(flags_of_dump)
{
    struct options o = good("dump|-p|1");
    ck_assert(o.view.no_native && !o.json && !o.subprocesses && !o.no_stop && !o.locals);
    ck_assert(!o.full_filenames);
    options_release(&o);
    o = good("dump|-njsl|-p|1|--nonblocking|--full-filenames");
    ck_assert(!o.view.no_native && o.json && o.subprocesses && o.no_stop && o.locals);
    ck_assert(o.full_filenames);
    options_release(&o);
    o = good("dump|--native-all|-p|1");
    ck_assert(!o.view.no_native);
    options_release(&o);
}
END_TEST

START_TEST(record_is_wallspys_record)
{
    struct options o = good("record|-o|/tmp/a%b.svg|-p|1234|-d|5|-f|flamegraph");
    ck_assert_int_eq(o.command, COMMAND_RECORD);
    ck_assert_str_eq(o.outputs.words[0], "/tmp/a%%b.svg");
    ck_assert_str_eq(o.format, "flamegraph");
    ck_assert_int_eq(o.duration_ns, 5LL * NS_PER_S);
    ck_assert(o.view.lines && o.view.no_native && !o.quiet);
    options_release(&o);
    o = good("r|-p|1|-d|unlimited|-r|50|-gistF|-f|Speedscope|-n");
    ck_assert(o.gil && o.subprocesses && !o.view.lines && !o.view.no_native);
    ck_assert_int_eq(o.rate_hz, 50);
    ck_assert_int_eq(o.duration_ns, 0);
    ck_assert_str_eq(o.format, "speedscope");
    ck_assert_str_eq(o.outputs.words[0], "%p-%t.json");
    options_release(&o);
    o = good("record|-f|raw|--nolineno|-o|none|--|python3|x.py|-p|7");
    ck_assert_str_eq(o.format, "raw");
    ck_assert_str_eq(o.outputs.words[0], "./none");
    ck_assert(!o.no_output && !o.view.lines);
    ck_assert_str_eq(o.argv[0], "python3");
    ck_assert_str_eq(o.argv[3], "7");
    ck_assert_uint_eq(o.n_pids, 0);
    options_release(&o);
    o = good("record|python3|-V");
    ck_assert_str_eq(o.argv[1], "-V");
    ck_assert_str_eq(o.format, "flamegraph");
    ck_assert_str_eq(o.outputs.words[0], "%p-%t.svg");
    options_release(&o);
}
END_TEST

START_TEST(mistakes_have_one_message)
{
    static const struct {
        const char *line, *text;
    } mistakes[] = {
        {"", "py-spy: give dump or record (see py-spy --help)"},
        {"dude", "py-spy dude: there is dump and record (see py-spy --help)"},
        {"dump", "dump: give -p PID"},
        {"dump|--pid", "--pid needs a value: PID"},
        {"dump|-p|1,2", "--pid 1,2: py-spy takes one process id, such as 1234"},
        {"dump|-p|0x", "--pid 0x: py-spy takes one process id, such as 1234"},
        {"dump|-p|python3", "--pid python3: py-spy takes one process id, such as 1234"},
        {"dump|-p|1|--threads", "py-spy dump has no option --threads (see py-spy --help)"},
        {"dump|-p|1|-x", "py-spy dump has no option -x (see py-spy --help)"},
        {"dump|-p|1|--json=1", "--json takes no value"},
        {"dump|1234", "1234: dump takes process ids: wallspy dump -p PID"},
        {"dump|-c|core.1", "--core: wallspy reads running processes, and no core files; pystack "
                           "core reads them"},
        {"record|-p|1|-f|chrometrace", "--format chrometrace: wallspy writes no such file; give -f "
                                       "speedscope, which has the order in time, too"},
        {"record|-p|1|-f|pdf", "--format pdf: flamegraph, raw or speedscope"},
        {"record|-p|1|-F|--nolineno", "--function and --nolineno: choose one"},
        {"record|--capture|--|true", "--capture: wallspy leaves the program's output alone; send "
                                     "it to a file by the shell's > instead"},
        {"record", "record: give -p PID or a command to launch"},
        {"record|-p|1|-r|0", "--rate 0: not a whole number from 1 to 10000"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct options o;
        struct err err;
        ck_assert_int_eq(parse_option_line(&o, "py-spy", mistakes[i].line, &err), OPTIONS_BAD);
        ck_assert_str_eq(err.text, mistakes[i].text);
        options_release(&o);
    }
}
END_TEST

START_TEST(top_says_what_to_use)
{
    struct options o;
    struct err err;
    ck_assert_int_eq(parse_option_line(&o, "py-spy", "top|--pid|1234", &err), OPTIONS_BAD);
    ck_assert_ptr_nonnull(strstr(err.text, "wallspy dump -p PID"));
    ck_assert_ptr_nonnull(strstr(err.text, "wallspy -p PID -d 10 -o none"));
    options_release(&o);
}
END_TEST

START_TEST(questions)
{
    static const struct {
        const char *line;
        enum options_result result;
    } cases[] = {
        {"--help", OPTIONS_HELP},        {"help", OPTIONS_HELP},         {"dump|-h", OPTIONS_HELP},
        {"record|--help", OPTIONS_HELP}, {"--version", OPTIONS_VERSION}, {"-V", OPTIONS_VERSION},
    };
    struct options o;
    struct err err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(parse_option_line(&o, "py-spy", cases[i].line, &err), cases[i].result);
        ck_assert_int_eq(o.command, COMMAND_PY_SPY);
        options_release(&o);
    }
}
END_TEST

START_TEST(the_word_py_spy_means_the_same)
{
    struct options o;
    struct err err;
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "py-spy|dump|-p|12|-n", &err), OPTIONS_RUN);
    ck_assert(o.as_py_spy && o.command == COMMAND_DUMP && o.pids[0] == 12 && !o.view.no_native);
    options_release(&o);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "help|py-spy", &err), OPTIONS_HELP);
    ck_assert_int_eq(o.command, COMMAND_PY_SPY);
    options_release(&o);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "dump|-p|12", &err), OPTIONS_RUN);
    ck_assert(!o.as_py_spy);
    options_release(&o);
    ck_assert_int_eq(parse_option_line(&o, "/opt/not-py-spy", "dump|-p|12", &err), OPTIONS_RUN);
    ck_assert(!o.as_py_spy);
    options_release(&o);
}
END_TEST

START_TEST(install_takes_a_folder)
{
    struct options o;
    struct err err;
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "install-py-spy|123", &err), OPTIONS_RUN);
    ck_assert_int_eq(o.command, COMMAND_INSTALL_PY_SPY);
    ck_assert_str_eq(o.argv[0], "123");
    options_release(&o);
    static const char *const lines[] = {"install-py-spy", "install-py-spy|a|b"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ck_assert_int_eq(parse_option_line(&o, "wallspy", lines[i], &err), OPTIONS_BAD);
        ck_assert_str_eq(err.text, "install-py-spy takes one folder, such as ~/.local/bin");
        options_release(&o);
    }
}
END_TEST

CHECK_MAIN("pyspy_args", 10, callers_lines_run_as_they_stand, flags_of_dump,
           record_is_wallspys_record, mistakes_have_one_message, top_says_what_to_use, questions,
           the_word_py_spy_means_the_same, install_takes_a_folder)
