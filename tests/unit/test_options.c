#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/units.h"
#include "tests/support/check_main.h"
#include "tests/support/option_line.h"

static struct options good(const char *line)
{
    struct options o;
    struct err err;
    enum options_result result = parse_option_line(&o, "wallspy", line, &err);
    ck_assert_msg(result == OPTIONS_RUN, "%s: %d %s", line, result, err.text);
    return o;
}

START_TEST(pids_are_found_in_every_shape)
{
    static const char *const lines[] = {"-p|12,34",           "-p12,34",      "--pid=12|--pid|34",
                                        "record|-p|12\n34\n", "12|34",        "12|-p|34",
                                        "-p|12 34|-p|12",     "dump|-p|12|34"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct options o = good(lines[i]);
        ck_assert_uint_eq(o.n_pids, 2);
        ck_assert_int_eq(o.pids[0], 12);
        ck_assert_int_eq(o.pids[1], 34);
        ck_assert_ptr_null(o.argv);
        options_release(&o);
    }
}
END_TEST

START_TEST(the_blogs_line_runs_as_it_stands)
{
    struct options o = good("record|-sti|--rate|10|--format|speedscope|--native|-o|output.json|--|"
                            "python3|x.py|-p|1");
    ck_assert_int_eq(o.command, COMMAND_RECORD);
    ck_assert(o.subprocesses && !o.view.no_native && o.rate_given);
    ck_assert_int_eq(o.rate_hz, 10);
    ck_assert_str_eq(o.format, "speedscope");
    ck_assert_uint_eq(o.outputs.n, 1);
    ck_assert_str_eq(o.outputs.words[0], "output.json");
    ck_assert_str_eq(o.argv[0], "python3");
    ck_assert_str_eq(o.argv[3], "1");
    ck_assert_uint_eq(o.n_pids, 0);
    options_release(&o);
}
END_TEST

START_TEST(options_end_at_the_first_operand)
{
    struct options o = good("-q|python|-v|x.py");
    ck_assert(o.quiet && !o.verbose);
    ck_assert_str_eq(o.argv[1], "-v");
    options_release(&o);
    o = good("--|1234");
    ck_assert_str_eq(o.argv[0], "1234");
    options_release(&o);
    o = good("standby|1234|-h");
    ck_assert_int_eq(o.command, COMMAND_STANDBY);
    ck_assert_str_eq(o.argv[1], "-h");
    options_release(&o);
}
END_TEST

START_TEST(every_flag_reaches_its_field)
{
    struct options o =
        good("1|-gn|-iFt|--no-python|--lines|--internals|--tasks|--nonblocking|-vv|--stats|"
             "--strict|--color=never|-d|500ms|--max-overhead|2%|--max-size|1.5G|-o|a.json|-o|-|"
             "--thread|main,mge-*|--thread=77");
    ck_assert(o.gil && o.view.no_python && o.view.lines && o.view.internals && o.no_stop);
    ck_assert(o.tasks);
    ck_assert(o.stats && o.strict && !o.quiet);
    ck_assert_int_eq(o.verbose, 2);
    ck_assert_int_eq(o.color, COLOR_NEVER);
    ck_assert_int_eq(o.duration_ns, 500LL * NS_PER_MS);
    ck_assert_double_eq_tol(o.max_overhead, 0.02, 1e-9);
    ck_assert_uint_eq(o.max_bytes, 3 << 29);
    ck_assert_uint_eq(o.outputs.n, 2);
    ck_assert_uint_eq(o.threads.n, 3);
    ck_assert_str_eq(o.threads.words[1], "mge-*");
    ck_assert(!o.no_output);
    options_release(&o);
    o = good("1|-w|cpu,wait-cpu|--weights=faults");
    ck_assert_uint_eq(o.view.weights, 1 << WEIGHT_CPU | 1 << WEIGHT_WAIT_CPU | 1 << WEIGHT_FAULTS);
    options_release(&o);
    o = good("1|-w|run,runqueue,blocked,off,switches");
    ck_assert_uint_eq(o.view.weights, 1 << WEIGHT_CPU | 1 << WEIGHT_WAIT_CPU | 1 << WEIGHT_OFF_CPU |
                                          1 << WEIGHT_OFF | 1 << WEIGHT_SWITCHES);
    options_release(&o);
    o = good("1|-o|none");
    ck_assert(o.no_output && o.outputs.n == 0);
    options_release(&o);
    o = good("1|--nolineno|--full-filenames|--hideprogress|-d|unlimited");
    ck_assert(o.no_progress && o.duration_ns == 0);
    options_release(&o);
    o = good("dump|--json|--freeze|--native=off|9");
    ck_assert(o.json && o.freeze && o.view.no_native);
    options_release(&o);
}
END_TEST

START_TEST(defaults)
{
    struct options o = good("1");
    ck_assert_int_eq(o.rate_hz, 100);
    ck_assert_double_eq_tol(o.max_overhead, 0.01, 1e-9);
    ck_assert_int_eq(o.duration_ns, 0);
    ck_assert_uint_eq(o.max_bytes, 256 << 20);
    options_release(&o);
    o = good("1|-r|100");
    ck_assert_double_eq_tol(o.max_overhead, 0.05, 1e-9);
    options_release(&o);
}
END_TEST

static const struct {
    const char *line, *text;
} mistakes[] = {
    {"--subproces|1", "unknown option --subproces: did you mean --subprocesses?"},
    {"-native|1", "unknown option -native: did you mean --native?"},
    {"-z|1", "unknown option -z (see wallspy record --help)"},
    {"-qz|1", "unknown option -z (see wallspy record --help)"},
    {"--xyzzy=3|1", "unknown option --xyzzy (see wallspy record --help)"},
    {"-|1", "unknown option - (see wallspy record --help)"},
    {"help|dumb", "help dumb: there is no such command (wallspy help lists them)"},
    {"help|top", "help top: there is no such command (wallspy help lists them)"},
    {"dump|--rate|3|1", "--rate is an option of wallspy record, not of dump"},
    {"--json|1", "--json is an option of wallspy dump, not of record"},
    {"-p", "--pid needs a value: LIST"},
    {"-p|", "-p got no process id (did pgrep find none?)"},
    {"-p|12x", "--pid 12x: not a list of process ids, such as 1234 or 1234,5678"},
    {"-p|12,python3", "--pid 12,python3: not a list of process ids, such as 1234 or 1234,5678"},
    {"--threads=main|1", "--threads takes no value: did you mean --thread main?"},
    {"--threads|main|-p|1", "--threads takes no value: did you mean --thread main?"},
    {"-p|1|--threads|mge-worker", "--threads takes no value: did you mean --thread mge-worker?"},
    {"--threads|mge-worker|-p|1", "--threads takes no value: did you mean --thread mge-worker?"},
    {"-p|0", "--pid 0: not a list of process ids, such as 1234 or 1234,5678"},
    {"99999999999999999999",
     "--pid 99999999999999999999: not a list of process ids, such as 1234 or 1234,5678"},
    {"-r|0|1", "--rate 0: not a whole number from 1 to 10000"},
    {"-r|10001|1", "--rate 10001: not a whole number from 1 to 10000"},
    {"-d|0|1", "--duration 0: not a time such as 500ms, 30, 2m or 1h"},
    {"--max-overhead|0|1", "--max-overhead 0: not a percentage above 0, at most 100"},
    {"--max-size|64X|1", "--max-size 64X: not a size such as 64M or 1G"},
    {"--max-size|M|1", "--max-size M: not a size such as 64M or 1G"},
    {"--max-size|1M|1", "--max-size 1M: too little for the stacks of one program: give 4M or more"},
    {"--native=on|1", "--native=on: full or off"},
    {"--quiet=yes|1", "--quiet takes no value"},
    {"--color|red|1", "--color red: auto, always or never"},
    {"-w|run,page|1",
     "--weights page: not a list of wall, run, wait-cpu, blocked, faults, switches"},
    {"--weights=|1", "--weights '': names no weight"},
    {"--leader=|1", "--leader '': names no thread"},
    {"--thread|,|1", "--thread '': names nothing"},
    {"--output=|1", "--output '': not a file name"},
    {"-o|none|-o|a.json|1", "-o none writes no file: leave out the other -o"},
    {"-o|none|-f|folded|1", "-o none writes no file: leave out --format"},
    {"-p|1|python", "either process ids or a command (python), not both"},
    {"record", "record: give -p PID or a command to launch"},
    {"-q|--", "record: give -p PID or a command to launch"},
    {"dump", "dump: give -p PID"},
    {"dump|python", "python: dump takes process ids: wallspy dump -p PID"},
    {"doctor|python", "python: doctor takes a process id: wallspy doctor -p PID"},
    {"report", "report needs a recording or dumps: wallspy report FILE..."},
    {"report|--from|yesterday|a.wallspy",
     "--from yesterday: not a time such as +12.5s (since the start), -10s (before the end), "
     "09:00:36.7 or 2026-11-28T09:00:36Z (UTC)"},
    {"report|--include||a.wallspy", "--include '': names nothing"},
    {"report|--min|much|a.wallspy",
     "--min much: not a percentage such as 5%, or a time such as 0.5s"},
    {"report|--why|1234|--tree|a.wallspy",
     "report prints one of these: --brief, --json, --why, tables"},
    {"report|--why=|a.wallspy", "--why '': names no thread"},
    {"report|--brief|--tree|a.wallspy",
     "report prints one of these: --brief, --json, --why, tables"},
    {"report|--include|parse*|a.wallspy",
     "--include chooses rows of a table: give --functions, --waits, --tree or --json"},
    {"report|--brief|--exclude|parse*|a.wallspy",
     "--exclude chooses rows of a table: give --functions, --waits, --tree or --json"},
    {"report|--json|--min|5%|a.wallspy",
     "--min chooses rows of a table: give --functions, --waits or --tree"},
    {"report|--json|--brief|a.json", "report prints one of these: --brief, --json, --why, tables"},
    {"export|a.wallspy", "export needs a format: -f NAME, or -o OUT by its suffix"},
    {"export|-f|folded", "export takes one recording and one -o: wallspy export FILE -o OUT"},
    {"export|-f|folded|a|b", "export takes one recording and one -o: wallspy export FILE -o OUT"},
    {"export|a|-o|b|-o|c", "export takes one recording and one -o: wallspy export FILE -o OUT"},
    {"export|a|-o|none", "export takes one recording and one -o: wallspy export FILE -o OUT"},
    {"report|--threads=main|a", "--threads takes no value"},
    {"dump|--tree|1", "--tree is an option of wallspy report, not of dump"},
    {"report|-s|a.json", "--subprocesses is an option of wallspy record, not of report"},
    {"doctor|1|2", "doctor looks at one process: give one PID"},
    {"doctor|-s|1", "--subprocesses is an option of wallspy record, not of doctor"},
    {"standby", "standby needs a command to run"},
    {"--native=off|--no-python|1", "--native=off with --no-python leaves nothing to show"},
    {"dump|--freeze|--no-stop|1", "--freeze stops all threads, --no-stop none: choose one"},
    {"top|-p|1",
     "this version has no command top (to launch a program of that name: wallspy -- top)"},
};

START_TEST(mistakes_are_one_line)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct options o;
        struct err err;
        ck_assert_int_eq(parse_option_line(&o, "wallspy", mistakes[i].line, &err), OPTIONS_BAD);
        ck_assert_str_eq(err.text, mistakes[i].text);
        ck_assert_int_eq(err.code, -EINVAL);
        options_release(&o);
    }
}
END_TEST

START_TEST(doctor_needs_no_process)
{
    struct options o = good("doctor");
    ck_assert(o.command == COMMAND_DOCTOR && o.n_pids == 0 && !o.json);
    options_release(&o);
    o = good("doctor|12|--json");
    ck_assert(o.n_pids == 1 && o.pids[0] == 12 && o.json);
    options_release(&o);
}
END_TEST

START_TEST(an_option_of_two_commands_is_each_ones_own)
{
    struct options o = good("report|--threads|--tree|a.wallspy");
    ck_assert(o.tables.threads && o.tables.tree && !o.tables.waits);
    options_release(&o);
    o = good("--threads|12"); /* py-spy's */
    ck_assert(!o.tables.threads && o.n_pids == 1);
    options_release(&o);
}
END_TEST

START_TEST(report_takes_files_and_options_in_any_order)
{
    struct options o = good("report|a.json|--json|-|--map|ranks|12|--|-x");
    ck_assert_str_eq(o.map, "ranks");
    ck_assert(o.command == COMMAND_REPORT && o.json && !o.n_pids && !o.argv);
    ck_assert_uint_eq(o.inputs.n, 4);
    ck_assert_str_eq(o.inputs.words[1], "-");
    ck_assert_str_eq(o.inputs.words[3], "-x");
    options_release(&o);
}
END_TEST

START_TEST(help_version_and_nothing)
{
    struct options o;
    struct err err;
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "", &err), OPTIONS_USAGE);
    options_release(&o);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "-V|--xyzzy", &err), OPTIONS_VERSION);
    options_release(&o);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "help", &err), OPTIONS_HELP);
    ck_assert_int_eq(o.command, COMMAND_RECORD);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "help|help", &err), OPTIONS_HELP);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "help|--help", &err), OPTIONS_HELP);
    ck_assert_int_eq(o.command, COMMAND_RECORD);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "help|dump", &err), OPTIONS_HELP);
    ck_assert_int_eq(o.command, COMMAND_DUMP);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "dump|-p|python3", &err), OPTIONS_NAME);
    ck_assert_str_eq(o.process_name, "python3");
    options_release(&o);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "--threads|python|-v", &err), OPTIONS_RUN);
    ck_assert_str_eq(o.argv[0], "python");
    options_release(&o);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "--|help", &err), OPTIONS_RUN);
    ck_assert_str_eq(o.argv[0], "help");
    options_release(&o);
    ck_assert_int_eq(parse_option_line(&o, "wallspy", "dump|-p|1|--help", &err), OPTIONS_HELP);
    ck_assert_int_eq(o.command, COMMAND_DUMP);
    options_release(&o);
}
END_TEST

START_TEST(help_fits_the_terminal)
{
    struct text t = {0};
    options_usage(&t);
    size_t lines = 0;
    for (const char *s = t.s; *s; s++)
        lines += *s == '\n';
    ck_assert_uint_eq(lines, 8);
    for (unsigned c = 0; c < COMMAND_COUNT; c++)
        options_help((enum command)c, &t);
    for (const char *s = t.s; *s; s += strcspn(s, "\n") + 1)
        ck_assert_msg(strcspn(s, "\n") <= 79, "%.100s", s);
    ck_assert_ptr_nonnull(strstr(t.s, " write speedscope, folded (raw), firefox, pprof,\n"));
    ck_assert_ptr_nonnull(strstr(t.s, " .folded or .txt\n"));
    text_release(&t);
}
END_TEST

START_TEST(durations)
{
    static const struct {
        const char *s;
        int64_t ns;
    } cases[] = {
        {"500ms", 500LL * NS_PER_MS},
        {"30", 30LL * NS_PER_S},
        {"1.5s", 1500LL * NS_PER_MS},
        {"2m", 120LL * NS_PER_S},
        {"1h", 3600LL * NS_PER_S},
        {"0.001ms", 1000},
        {"0", 0},
        {"", 0},
        {"-1", 0},
        {"5x", 0},
        {"s", 0},
        {"1 s", 0},
        {"nan", 0},
        {"99999999h", 0},
        {"18446744073709551616", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ns = 0;
        int r = parse_duration(cases[i].s, &ns);
        ck_assert_msg(ns == cases[i].ns && r == (ns ? 0 : -EINVAL), "%s", cases[i].s);
    }
}
END_TEST

START_TEST(moments)
{
    static const struct {
        const char *s;
        enum moment_kind kind;
        int64_t ns;
    } cases[] = {
        {"+12.5s", MOMENT_SINCE_START, 12500LL * NS_PER_MS},
        {"12.5", MOMENT_SINCE_START, 12500LL * NS_PER_MS},
        {"0", MOMENT_SINCE_START, 0},
        {"-10s", MOMENT_BEFORE_END, 10LL * NS_PER_S},
        {"-1m", MOMENT_BEFORE_END, 60LL * NS_PER_S},
        {"09:00:36.7", MOMENT_OF_DAY, 32436700LL * NS_PER_MS},
        {"09:00", MOMENT_OF_DAY, 32400LL * NS_PER_S},
        {"2026-11-28T09:00:36Z", MOMENT_UTC, 1795856436LL * NS_PER_S},
        {"2024-02-29 23:59:59.5", MOMENT_UTC, 1709251199500LL * NS_PER_MS},
    };
    static const char *const bad[] = {"",
                                      "+",
                                      "-",
                                      "+-1",
                                      "9:00:36",
                                      "09:00:61",
                                      "24:00:00",
                                      "09:60",
                                      "09:00:36x",
                                      "2026-11-28",
                                      "2026-13-01T00:00:00Z",
                                      "2026-00-10T00:00:00Z",
                                      "1969-01-01T00:00:00Z",
                                      "2026-11-28T9:00",
                                      "99999999h",
                                      "1e3",
                                      "nan"};
    struct moment m = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(parse_moment(cases[i].s, &m) == 0, "%s", cases[i].s);
        ck_assert_msg(m.kind == cases[i].kind && m.ns == cases[i].ns, "%s", cases[i].s);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(parse_moment(bad[i], &m) == -EINVAL, "%s", bad[i]);
}
END_TEST

CHECK_MAIN("options", 20, pids_are_found_in_every_shape, the_blogs_line_runs_as_it_stands,
           options_end_at_the_first_operand, every_flag_reaches_its_field, defaults,
           mistakes_are_one_line, doctor_needs_no_process,
           an_option_of_two_commands_is_each_ones_own, report_takes_files_and_options_in_any_order,
           help_version_and_nothing, help_fits_the_terminal, durations, moments)
