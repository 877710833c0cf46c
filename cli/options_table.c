/* What each option is called, takes, does and says of itself. */
#include "cli/options_table.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/units.h"
#include "exporter/exporter.h"

enum { MIN_RATE_HZ = 1, MAX_RATE_HZ = 10000 };
static const char list_separators[] = ", \t\n";

static int set_flag(struct options *o, const struct option_row *row, const char *value,
                    struct err *err)
{
    (void)value, (void)err;
    *(bool *)((char *)o + row->field) = true;
    return 0;
}

/* For options of py-spy that say how wallspy works anyway. */
static int set_nothing(struct options *o, const struct option_row *row, const char *value,
                       struct err *err)
{
    (void)o, (void)row, (void)value, (void)err;
    return 0;
}

static int bad_value(const struct option_row *row, const char *value, const char *wanted,
                     struct err *err)
{
    return err_set(err, -EINVAL, "--%s %s: %s", row->name, value, wanted);
}

static void add_pid(struct options *o, pid_t pid)
{
    for (size_t i = 0; i < o->n_pids; i++)
        if (o->pids[i] == pid)
            return;
    o->pids = array_reserve(o->pids, &o->pids_capacity, o->n_pids + 1, sizeof *o->pids);
    o->pids[o->n_pids++] = pid;
}

static int set_pids(struct options *o, const struct option_row *row, const char *value,
                    struct err *err)
{
    const char *s = value + strspn(value, list_separators);
    if (!*s)
        return err_set(err, -EINVAL, "-p got no process id (did pgrep find none?)");
    while (*s) {
        uint64_t pid = 0;
        size_t len = strcspn(s, list_separators);
        if (parse_u64(s, s + len, 10, &pid) != s + len || pid < 1 || pid > INT_MAX)
            return bad_value(row, value, "not a list of process ids, such as 1234 or 1234,5678",
                             err);
        add_pid(o, (pid_t)pid);
        s += len;
        s += strspn(s, list_separators);
    }
    return 0;
}

static void add_word(struct word_list *list, const char *word)
{
    list->words = array_reserve(list->words, &list->capacity, list->n + 1, sizeof *list->words);
    list->words[list->n++] = word;
}

static int set_output(struct options *o, const struct option_row *row, const char *value,
                      struct err *err)
{
    if (!*value)
        return bad_value(row, "''", "not a file name", err);
    add_word(&o->outputs, value);
    return 0;
}

static int set_threads(struct options *o, const struct option_row *row, const char *value,
                       struct err *err)
{
    size_t before = o->threads.n;
    while (*value) {
        size_t len = strcspn(value, ",");
        if (len)
            add_word(&o->threads, xasprintf("%.*s", (int)len, value));
        value += len + (value[len] == ',');
    }
    return o->threads.n > before ? 0 : bad_value(row, "''", "names no thread", err);
}

static int set_format(struct options *o, const struct option_row *row, const char *value,
                      struct err *err)
{
    (void)row, (void)err;
    o->format = value;
    return 0;
}

static int set_rate(struct options *o, const struct option_row *row, const char *value,
                    struct err *err)
{
    int64_t hz = 0;
    if (parse_whole_i64(value, MIN_RATE_HZ, MAX_RATE_HZ, &hz) < 0)
        return bad_value(row, value, "not a whole number from 1 to 10000", err);
    o->rate_hz = (int)hz;
    o->rate_given = true;
    return 0;
}

static int set_duration(struct options *o, const struct option_row *row, const char *value,
                        struct err *err)
{
    o->duration_ns = 0;
    if (!str_eq(value, "unlimited") && parse_duration(value, &o->duration_ns) < 0)
        return bad_value(row, value, "not a time such as 500ms, 30, 2m or 1h", err);
    return 0;
}

static int set_overhead(struct options *o, const struct option_row *row, const char *value,
                        struct err *err)
{
    if (parse_percent(value, &o->max_overhead) < 0)
        return bad_value(row, value, "not a percentage above 0, at most 100", err);
    return 0;
}

static int set_size(struct options *o, const struct option_row *row, const char *value,
                    struct err *err)
{
    uint64_t bytes = 0;
    if (parse_size(value, &bytes) < 0)
        return bad_value(row, value, "not a size such as 64M or 1G", err);
    if (bytes < OPTIONS_LEAST_BYTES)
        return bad_value(row, value, "too little for the stacks of one program: give 4M or more",
                         err);
    o->max_bytes = bytes;
    return 0;
}

static int set_native(struct options *o, const struct option_row *row, const char *value,
                      struct err *err)
{
    if (value && !str_eq(value, "full") && !str_eq(value, "off"))
        return err_set(err, -EINVAL, "--native=%s: full or off", value);
    (void)row;
    o->view.no_native = value && str_eq(value, "off");
    return 0;
}

static int set_color(struct options *o, const struct option_row *row, const char *value,
                     struct err *err)
{
    static const char *const names[] = {
        [COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_eq(value, names[i])) {
            o->color = (enum color_when)i;
            return 0;
        }
    }
    return bad_value(row, value, "auto, always or never", err);
}

static int set_verbose(struct options *o, const struct option_row *row, const char *value,
                       struct err *err)
{
    (void)row, (void)value, (void)err;
    o->verbose++;
    return 0;
}

/* What is left out of a row is none; the order is that of the help. */
const struct option_row option_rows[] = {
    [OPTION_ROW_PID] =
        {.letter = 'p',
         .name = "pid",
         .value = "LIST",
         .commands = FOR_RECORD | FOR_DUMP,
         .set = set_pids,
         .help =
             "processes to attach to: 1234 or 12,34 or \"$(pgrep -f train.py)\". A number alone "
             "means the same"},
    {.letter = 'o',
     .name = "output",
     .value = "FILE",
     .commands = FOR_RECORD,
     .set = set_output,
     .help = "where to write; may be given several times (default "
             "wallspy-<comm>-<pid>-<time>.json). The suffix says the format: @; .gz behind it "
             "compresses; - is stdout. %p is the pid, %h the host, %t the time, %q{NAME} a "
             "variable of the target's environment, %% a percent sign",
     .add_list = exporter_add_suffixes},
    {.letter = 'f',
     .name = "format",
     .value = "NAME",
     .commands = FOR_RECORD,
     .set = set_format,
     .help = "@, whatever the suffix",
     .add_list = exporter_add_names},
    {.letter = 'r',
     .name = "rate",
     .value = "HZ",
     .commands = FOR_RECORD,
     .set = set_rate,
     .help = "ticks a second, 1 to 10000 (default 100)"},
    {.letter = 'd',
     .name = "duration",
     .value = "TIME",
     .commands = FOR_RECORD,
     .set = set_duration,
     .help = "500ms, 30, 2m, 1h; then let go, the target runs on (default: unlimited, until Ctrl-C "
             "or the target's exit)"},
    {.letter = 's',
     .name = "subprocesses",
     .commands = FOR_RECORD,
     .set = set_flag,
     .field = offsetof(struct options, subprocesses),
     .help = "accepted, but this version does not follow children; it warns if there are any"},
    {.name = "thread",
     .value = "LIST",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_threads,
     .help = "only these threads: tids or name globs, main, python, native"},
    {.letter = 'g',
     .name = "gil",
     .commands = FOR_RECORD,
     .set = set_flag,
     .field = offsetof(struct options, gil),
     .help = "only samples of threads that hold the GIL"},
    {.letter = 'n',
     .name = "native",
     .value = "full|off",
     .optional = true,
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_native,
     .help = "C and C++ frames: all (the default) or none"},
    {.name = "no-python",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, view.no_python),
     .help = "no Python frames: the interpreter's own C stack"},
    {.name = "lines",
     .commands = FOR_RECORD,
     .set = set_flag,
     .field = offsetof(struct options, view.lines),
     .help = "one frame per source line instead of per function"},
    {.name = "internals",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, view.internals),
     .help = "show CPython's own plumbing frames"},
    {.name = "tasks",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, tasks),
     .help =
         "a frame [task NAME] below the coroutines of an asyncio task (CPython 3.14 and later)"},
    {.name = "no-stop",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, no_stop),
     .help = "never hold a thread: running threads get their Python stack only, marked"},
    {.name = "nonblocking",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, no_stop),
     .help = "the same, as py-spy calls it"},
    {.name = "max-overhead",
     .value = "PCT",
     .commands = FOR_RECORD,
     .set = set_overhead,
     .help = "share of its time that a thread may lose (default 1, or 5 with -r); the rate is "
             "lowered to keep it"},
    {.name = "max-size",
     .value = "SIZE",
     .commands = FOR_RECORD,
     .set = set_size,
     .help =
         "64M, 1G: bound of what is recorded, in memory and in each file (default 256M); where it "
         "is reached, time lines become coarser, and no total is lost"},
    {.name = "json",
     .commands = FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, json),
     .help = "for programs: the schema dump/1, every thread with its own entry"},
    {.name = "freeze",
     .commands = FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, freeze),
     .help = "hold all threads together, for 5 ms at most, instead of one after the other"},
    {.letter = 'i',
     .name = "idle",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_nothing,
     .help = "accepted as py-spy's: idle threads are always there"},
    {.letter = 't',
     .name = "threads",
     .commands = FOR_RECORD,
     .set = set_nothing,
     .help = "accepted as py-spy's: threads are always told apart"},
    {.letter = 'F',
     .name = "function",
     .commands = FOR_RECORD,
     .set = set_nothing,
     .help = "accepted as py-spy's: frames are functions unless --lines"},
    {.name = "nolineno",
     .commands = FOR_RECORD,
     .set = set_nothing,
     .help = "accepted as py-spy's: names have no line numbers unless --lines"},
    {.name = "full-filenames",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_nothing,
     .help = "accepted as py-spy's: file names are always whole"},
    {.name = "hideprogress",
     .commands = FOR_RECORD,
     .set = set_flag,
     .field = offsetof(struct options, no_progress),
     .help = "as py-spy's: no line of progress"},
    {.letter = 'q',
     .name = "quiet",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, quiet),
     .help = "only warnings and errors"},
    {.letter = 'v',
     .name = "verbose",
     .commands = FOR_RECORD,
     .set = set_verbose,
     .help = "say more: every counter at the end"},
    {.name = "stats",
     .commands = FOR_RECORD,
     .set = set_flag,
     .field = offsetof(struct options, stats),
     .help = "the same as -v"},
    {.name = "strict",
     .commands = FOR_RECORD,
     .set = set_flag,
     .field = offsetof(struct options, strict),
     .help = "exit 6 if anything is missing from the recording, 125 if a command was launched and "
             "could not be sampled"},
    {.name = "color",
     .value = "WHEN",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_color,
     .help = "auto, always or never; NO_COLOR is respected"},
    {.letter = 'h',
     .name = "help",
     .commands = FOR_RECORD | FOR_DUMP | FOR_STANDBY,
     .help = "this text"},
    {.letter = 'V',
     .name = "version",
     .commands = FOR_RECORD | FOR_DUMP | FOR_STANDBY,
     .help = "the version"},
};
const size_t option_row_count = sizeof option_rows / sizeof *option_rows;

const struct command_row command_rows[COMMAND_COUNT] = {
    [COMMAND_RECORD] = {"record", "-p PID... | [--] CMD ARGS...",
                        "sample every thread by the wall clock and write where the time went"},
    [COMMAND_DUMP] = {"dump", "-p PID...",
                      "the stacks of all threads now, and what each waits for"},
    [COMMAND_STANDBY] = {"standby", "[--] CMD ARGS...",
                         "run CMD so that it may be sampled later, also where Yama forbids it"},
};
