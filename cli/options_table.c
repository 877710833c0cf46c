/* One row for each option: its name, its value, its function and its help. */
#include "cli/options_table.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/known_file.h"
#include "exporter/exporter.h"

enum { MIN_RATE_HZ = 1, MAX_RATE_HZ = 10000 };
static const char list_separators[] = ", \t\n";
static const char *const native_choices[] = {"full", "off", NULL};
static const char *const thread_choices[] = {"main", "python", "native", NULL};
static const char *const color_choices[] = {
    [COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never", NULL};

static int set_flag(struct options *o, const struct option_row *row, const char *value,
                    struct err *err)
{
    (void)value, (void)err;
    *(bool *)((char *)o + row->field) = true;
    return 0;
}

/* For options of py-spy that ask for what wallspy does in any case. */
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

/* A name where process ids belong: the caller lists the processes that have it. */
static bool is_name(const char *s)
{
    return *s != '-' && !strpbrk(s, list_separators) && !(*s >= '0' && *s <= '9');
}

static int set_pids(struct options *o, const struct option_row *row, const char *value,
                    struct err *err)
{
    const char *s = value + strspn(value, list_separators);
    if (!*s)
        return err_set(err, -EINVAL, "-p got no process id (did pgrep find none?)");
    if (is_name(s)) {
        o->process_name = s;
        return 0;
    }
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

/* Each with its synonyms. */
static const struct {
    const char *name;
    enum weight weight;
} weight_words[] = {
    {"wall", WEIGHT_WALL},         {"run", WEIGHT_CPU},           {"cpu", WEIGHT_CPU},
    {"wait-cpu", WEIGHT_WAIT_CPU}, {"runqueue", WEIGHT_WAIT_CPU}, {"blocked", WEIGHT_OFF_CPU},
    {"off", WEIGHT_OFF},           {"faults", WEIGHT_FAULTS},     {"switches", WEIGHT_SWITCHES},
};

static int set_weights(struct options *o, const struct option_row *row, const char *value,
                       struct err *err)
{
    enum { N = sizeof weight_words / sizeof *weight_words };
    if (!*value)
        return bad_value(row, "''", "names no weight", err);
    while (*value) {
        size_t len = strcspn(value, ",");
        size_t i = 0;
        while (i < N && !(strlen(weight_words[i].name) == len &&
                          memcmp(weight_words[i].name, value, len) == 0))
            i++;
        if (len && i == N)
            return bad_value(row, value,
                             "not a list of wall, run, wait-cpu, blocked, faults, switches", err);
        o->view.weights |= len ? 1U << weight_words[i].weight : 0;
        value += len + (value[len] == ',');
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
    if (str_eq(value, "none")) {
        o->no_output = true;
        return 0;
    }
    add_word(&o->outputs, value);
    return 0;
}

/* Words between commas, for the list at FIELD. */
static int set_list(struct options *o, const struct option_row *row, const char *value,
                    struct err *err)
{
    struct word_list *list = (void *)((char *)o + row->field);
    size_t before = list->n;
    while (*value) {
        size_t len = strcspn(value, ",");
        if (len)
            add_word(list, xasprintf("%.*s", (int)len, value));
        value += len + (value[len] == ',');
    }
    return list->n > before ? 0 : bad_value(row, "''", "names nothing", err);
}

/* A glob may have commas: names of C++ do. */
static int set_pattern(struct options *o, const struct option_row *row, const char *value,
                       struct err *err)
{
    if (!*value)
        return bad_value(row, "''", "names nothing", err);
    add_word((void *)((char *)o + row->field), xasprintf("%s", value));
    return 0;
}

static int set_leader(struct options *o, const struct option_row *row, const char *value,
                      struct err *err)
{
    if (!*value)
        return bad_value(row, "''", "names no thread", err);
    o->view.leader = value;
    return 0;
}

static int set_why(struct options *o, const struct option_row *row, const char *value,
                   struct err *err)
{
    if (!*value)
        return bad_value(row, "''", "names no thread", err);
    o->why = value;
    return 0;
}

static int set_known(struct options *o, const struct option_row *row, const char *value,
                     struct err *err)
{
    (void)row;
    return known_file_add(o, value, err);
}

static int set_map(struct options *o, const struct option_row *row, const char *value,
                   struct err *err)
{
    (void)row, (void)err;
    o->map = value;
    return 0;
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

static int set_moment(struct options *o, const struct option_row *row, const char *value,
                      struct err *err)
{
    if (parse_moment(value, (void *)((char *)o + row->field)) < 0)
        return bad_value(row, value,
                         "not a time such as +12.5s (since the start), -10s (before the end), "
                         "09:00:36.7 or 2026-11-28T09:00:36Z (UTC)",
                         err);
    return 0;
}

static int set_twice(struct options *o, const struct option_row *row, const char *value,
                     struct err *err)
{
    if (parse_duration(value, &o->twice_ns) < 0)
        return bad_value(row, value, "not a time such as 500ms, 2 or 1m", err);
    return 0;
}

static int set_overhead(struct options *o, const struct option_row *row, const char *value,
                        struct err *err)
{
    if (parse_percent(value, &o->max_overhead) < 0)
        return bad_value(row, value, "not a percentage above 0, at most 100", err);
    return 0;
}

static int set_least(struct options *o, const struct option_row *row, const char *value,
                     struct err *err)
{
    int r = str_ends(value, "%") ? parse_percent(value, &o->least_share)
                                 : parse_duration(value, &o->least_ns);
    if (r < 0)
        return bad_value(row, value, "not a percentage such as 5%, or a time such as 0.5s", err);
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

static int set_ring(struct options *o, const struct option_row *row, const char *value,
                    struct err *err)
{
    if (parse_duration(value, &o->ring_ns) < 0)
        return bad_value(row, value, "not a time such as 30s, 10m or 1h", err);
    if (o->ring_ns < NS_PER_S)
        return bad_value(row, value, "too short to say much: give 1s or more", err);
    return 0;
}

static int set_native(struct options *o, const struct option_row *row, const char *value,
                      struct err *err)
{
    if (value && !str_is_one_of(value, row->choices))
        return err_set(err, -EINVAL, "--native=%s: full or off", value);
    o->view.no_native = value && str_eq(value, "off");
    return 0;
}

static int set_color(struct options *o, const struct option_row *row, const char *value,
                     struct err *err)
{
    for (unsigned i = 0; row->choices[i]; i++) {
        if (str_eq(value, row->choices[i])) {
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

/* In the order of the help. */
const struct option_row option_rows[] = {
    [OPTION_ROW_PID] = {.letter = 'p',
                        .name = "pid",
                        .value = "LIST",
                        .kind = VALUE_PIDS,
                        .commands = FOR_RECORD | FOR_DUMP | FOR_DOCTOR,
                        .set = set_pids,
                        .help =
                            "attach to these processes (doctor judges one): 1234 or 12,34 or "
                            "\"$(pgrep -f train.py)\". A number "
                            "alone means the same, and a name lists the processes that have it"},
    {.letter = 'o',
     .name = "output",
     .value = "FILE",
     .kind = VALUE_FILE,
     .commands = FOR_RECORD | FOR_EXPORT,
     .set = set_output,
     .help = "write to FILE; may be given several times (default "
             "wallspy-<comm>-<pid>-<time>.json). The suffix says the format: @; .gz behind it "
             "compresses; - is stdout, none writes no file. %p is the pid, %h the host, %t the "
             "time, %q{NAME} a variable of the target's environment, %% a percent sign",
     .add_list = exporter_add_suffixes},
    {.letter = 'f',
     .name = "format",
     .value = "NAME",
     .kind = VALUE_FORMAT,
     .commands = FOR_RECORD | FOR_EXPORT,
     .set = set_format,
     .help = "write @, whatever the suffix",
     .add_list = exporter_add_names},
    {.name = "json",
     .commands = FOR_DUMP | FOR_DOCTOR | FOR_REPORT | FOR_CTL,
     .set = set_flag,
     .field = offsetof(struct options, json),
     .help = "print JSON for programs: schema dump/1, with an entry for each thread, doctor/1, "
             "report/1, or status/1 of ctl"},
    {.name = "brief",
     .commands = FOR_REPORT,
     .set = set_flag,
     .field = offsetof(struct options, brief),
     .help =
         "print the answer in at most 12 lines, for a reader that pays by the word, as an agent "
         "does"},
    {.name = "why",
     .value = "THREAD",
     .commands = FOR_REPORT,
     .set = set_why,
     .help = "of a recording: say where the time of this thread ends (a tid or a name): in what it "
             "does, or by way of whom it waits for"},
    {.name = "map",
     .value = "FILE",
     .kind = VALUE_FILE,
     .commands = FOR_REPORT,
     .set = set_map,
     .help = "read ranks and dimensions from FILE, of lines such as \"12 tp=4 pp=0\", "
             "\"node7:4711 rank=12\" or \"a.txt rank=3 host=node1\""},
    {.name = "from",
     .value = "TIME",
     .commands = FOR_REPORT | FOR_EXPORT,
     .set = set_moment,
     .field = offsetof(struct options, from),
     .help = "take a recording from TIME on: +12.5s or 12.5 (since its start), -10s (before its "
             "end), 09:00:36.7 (UTC) or 2026-11-28T09:00:36Z"},
    {.name = "to",
     .value = "TIME",
     .commands = FOR_REPORT | FOR_EXPORT,
     .set = set_moment,
     .field = offsetof(struct options, to),
     .help = "take it until TIME"},
    {.name = "threads",
     .commands = FOR_REPORT,
     .set = set_flag,
     .field = offsetof(struct options, tables.threads),
     .help = "of a recording, instead of the answer: a row for each thread"},
    {.name = "functions",
     .commands = FOR_REPORT,
     .set = set_flag,
     .field = offsetof(struct options, tables.functions),
     .help = "a row for each function, by its own time"},
    {.name = "waits",
     .commands = FOR_REPORT,
     .set = set_flag,
     .field = offsetof(struct options, tables.waits),
     .help = "a row for each thing that was waited for, and who had it"},
    {.name = "tree",
     .commands = FOR_REPORT,
     .set = set_flag,
     .field = offsetof(struct options, tables.tree),
     .help = "the calls of threads as trees, one of those that are alike, by wall time; what takes "
             "less than 1% (--min) is left out"},
    {.name = "include",
     .value = "PATTERN",
     .commands = FOR_REPORT,
     .set = set_pattern,
     .field = offsetof(struct options, include),
     .help = "of --functions, --waits and --tree only stacks with such a frame: a glob on its "
             "function, file or module. May be given several times: any of them"},
    {.name = "exclude",
     .value = "PATTERN",
     .commands = FOR_REPORT,
     .set = set_pattern,
     .field = offsetof(struct options, exclude),
     .help = "leave such stacks out"},
    {.name = "min",
     .value = "LEAST",
     .commands = FOR_REPORT,
     .set = set_least,
     .help = "show rows of these tables that take LEAST or more: 5% of all, or 0.5s"},
    {.name = "twice",
     .value = "TIME",
     .commands = FOR_DUMP,
     .set = set_twice,
     .help = "look for TIME (2s, 500ms) instead of half a second, and say which threads ran "
             "meanwhile"},
    {.name = "now",
     .commands = FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, now),
     .help = "look once, without half a second before: a deadlock cannot be told from waits that "
             "go on"},
    {.name = "locals",
     .commands = FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, locals),
     .help = "show the arguments of Python's functions: short values, *** where a name looks like "
             "a secret's"},
    {.name = "full",
     .commands = FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, full),
     .help = "show all frames, those of libc and the interpreter too, whole names and paths"},
    {.letter = 'r',
     .name = "rate",
     .value = "HZ",
     .commands = FOR_RECORD,
     .set = set_rate,
     .help = "sample HZ times a second, 1 to 10000 (default 100)"},
    {.letter = 'd',
     .name = "duration",
     .value = "TIME",
     .commands = FOR_RECORD,
     .set = set_duration,
     .help = "stop after TIME, such as 500ms, 30, 2m or 1h; the target runs on (default: "
             "unlimited, until Ctrl-C or the target's exit)"},
    {.letter = 's',
     .name = "subprocesses",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, subprocesses),
     .help = "take the children and theirs, too; record also takes those that begin later"},
    {.name = "thread",
     .value = "LIST",
     .choices = thread_choices,
     .commands = FOR_RECORD | FOR_DUMP | FOR_REPORT,
     .set = set_list,
     .field = offsetof(struct options, threads),
     .help = "sample, or show, only these threads: tids or name globs, main, python, native"},
    {.name = "process",
     .value = "LIST",
     .commands = FOR_REPORT,
     .set = set_list,
     .field = offsetof(struct options, processes),
     .help = "take only the threads of these processes of a recording: pids or name globs"},
    {.letter = 'g',
     .name = "gil",
     .commands = FOR_RECORD,
     .set = set_flag,
     .field = offsetof(struct options, gil),
     .help = "keep only samples of threads that hold the GIL"},
    {.letter = 'w',
     .name = "weights",
     .value = "LIST",
     .commands = FOR_RECORD | FOR_EXPORT,
     .set = set_weights,
     .help = "add profiles of each thread by run, wait-cpu, blocked, faults or switches (also cpu, "
             "runqueue, off) to the speedscope file"},
    {.section = "Frames",
     .letter = 'n',
     .name = "native",
     .value = "full|off",
     .choices = native_choices,
     .optional = true,
     .commands = FOR_RECORD | FOR_DUMP | FOR_REPORT | FOR_EXPORT,
     .set = set_native,
     .help = "show all C and C++ frames (full, the default) or none (off)"},
    {.name = "no-python",
     .commands = FOR_RECORD | FOR_DUMP | FOR_REPORT | FOR_EXPORT,
     .set = set_flag,
     .field = offsetof(struct options, view.no_python),
     .help = "leave out Python frames: show the interpreter's own C stack"},
    {.name = "lines",
     .commands = FOR_RECORD | FOR_EXPORT,
     .set = set_flag,
     .field = offsetof(struct options, view.lines),
     .help = "show one frame per source line instead of per function"},
    {.name = "internals",
     .commands = FOR_RECORD | FOR_DUMP | FOR_REPORT | FOR_EXPORT,
     .set = set_flag,
     .field = offsetof(struct options, view.internals),
     .help = "show CPython's internal functions, _start, clone3 and the like"},
    {.name = "tasks",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, tasks),
     .help = "show a frame [task NAME] below the coroutines of an asyncio task (CPython 3.14 and "
             "later)"},
    {.name = "leader",
     .value = "THREAD",
     .commands = FOR_RECORD | FOR_REPORT | FOR_EXPORT,
     .set = set_leader,
     .help = "say whose time the findings are about, by its tid or name (default: the main thread; "
             "those that work, where that only waits for them)"},
    {.name = "known",
     .value = "FILE",
     .commands = FOR_RECORD | FOR_DUMP | FOR_REPORT | FOR_EXPORT,
     .set = set_known,
     .help = "know more of others' code, by the rows of FILE: pools, event loops, waits that spin, "
             "slow code, what is the user's own. May be given several times. Always added: "
             "~/.config/wallspy/known.def"},
    {.section = "Cost and size",
     .name = "no-stop",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, no_stop),
     .help = "never hold a thread: read only the Python stack of running threads, and mark it"},
    {.name = "max-overhead",
     .value = "PCT",
     .commands = FOR_RECORD,
     .set = set_overhead,
     .help = "let no thread lose more than PCT percent of its time to holds (default 1, or 5 with "
             "-r), if need be at a lower rate"},
    {.name = "max-size",
     .value = "SIZE",
     .commands = FOR_RECORD | FOR_EXPORT,
     .set = set_size,
     .help =
         "bound the recording, in memory and in each file: 64M, 1G (default 256M). At that size "
         "time lines become coarser, and no total is lost"},
    {.name = "ring",
     .value = "TIME",
     .commands = FOR_RECORD,
     .set = set_ring,
     .help =
         "keep only the last TIME of the recording, in memory and in each file: 10m. It may run "
         "for days: wallspy ctl PID snapshot writes what is kept"},
    {.name = "freeze",
     .commands = FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, freeze),
     .help = "hold all threads together, for 5 ms at most, instead of one after the other"},
    {.section = "Messages",
     .letter = 'q',
     .name = "quiet",
     .commands = FOR_RECORD | FOR_DUMP | FOR_EXPORT,
     .set = set_flag,
     .field = offsetof(struct options, quiet),
     .help = "print only warnings and errors"},
    {.letter = 'v',
     .name = "verbose",
     .commands = FOR_RECORD | FOR_REPORT,
     .set = set_verbose,
     .help =
         "print every number about the recording at the end, what it was made on, and a tree of "
         "the processes"},
    {.name = "stats",
     .commands = FOR_RECORD | FOR_REPORT,
     .set = set_flag,
     .field = offsetof(struct options, stats),
     .help = "do the same as -v"},
    {.name = "strict",
     .commands = FOR_RECORD,
     .set = set_flag,
     .field = offsetof(struct options, strict),
     .help =
         "exit 6 if anything is missing from the recording; 125 if wallspy launched the command"},
    {.name = "color",
     .value = "WHEN",
     .choices = color_choices,
     .commands = FOR_RECORD | FOR_DUMP | FOR_REPORT | FOR_EXPORT,
     .set = set_color,
     .help = "color messages: auto, always or never; NO_COLOR is respected"},
    {.letter = 'h',
     .name = "help",
     .commands = FOR_RECORD | FOR_DUMP | FOR_STANDBY | FOR_DOCTOR | FOR_REPORT |
                 FOR_INSTALL_PY_SPY | FOR_EXPORT | FOR_CTL,
     .help = "print this text"},
    {.letter = 'V',
     .name = "version",
     .commands = FOR_RECORD | FOR_DUMP | FOR_STANDBY | FOR_DOCTOR | FOR_REPORT |
                 FOR_INSTALL_PY_SPY | FOR_EXPORT | FOR_CTL,
     .help = "print the version"},
    {.section = "Options of py-spy",
     .letter = 'i',
     .name = "idle",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_nothing,
     .help = "show idle threads, as wallspy always does"},
    {.letter = 't',
     .name = "threads",
     .commands = FOR_RECORD,
     .set = set_nothing,
     .help = "tell threads apart, as wallspy always does"},
    {.letter = 'F',
     .name = "function",
     .commands = FOR_RECORD,
     .set = set_nothing,
     .help = "make a frame of each function, as wallspy does without --lines"},
    {.name = "nolineno",
     .commands = FOR_RECORD,
     .set = set_nothing,
     .help = "show no line numbers, as wallspy does without --lines"},
    {.name = "full-filenames",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_nothing,
     .help = "show whole file names, as wallspy always does"},
    {.name = "hideprogress",
     .commands = FOR_RECORD,
     .set = set_flag,
     .field = offsetof(struct options, no_progress),
     .help = "show no line of progress"},
    {.name = "nonblocking",
     .commands = FOR_RECORD | FOR_DUMP,
     .set = set_flag,
     .field = offsetof(struct options, no_stop),
     .help = "do the same as --no-stop"},
};
const size_t option_row_count = sizeof option_rows / sizeof *option_rows;

const char *option_section(const struct option_row *row, unsigned command)
{
    const char *title = row->section;
    while (row > option_rows) {
        row--;
        if (row->commands & command)
            return title;
        if (!title)
            title = row->section;
    }
    return NULL;
}

void option_add_help(const struct option_row *row, struct text *out)
{
    const char *at = row->add_list ? strchr(row->help, '@') : NULL;
    if (at) {
        text_add_bytes(out, row->help, (size_t)(at - row->help));
        row->add_list(out);
    }
    text_add(out, at ? at + 1 : row->help);
}

const struct command_row command_rows[COMMAND_COUNT] = {
    [COMMAND_RECORD] = {"record",
                        {"[record] -p PID... [-o FILE] [options]",
                         "[record] [-o FILE] [options] [--] CMD ARGS..."},
                        "sample every thread by the wall clock and write where the time went"},
    [COMMAND_DUMP] = {"dump",
                      {"dump -p PID... [-s] [--json] [options]"},
                      "print the stacks of all threads now, and what each waits for"},
    [COMMAND_STANDBY] = {"standby",
                         {"standby [--] CMD ARGS..."},
                         "run CMD so that it may be sampled later, also where Yama forbids it"},
    [COMMAND_DOCTOR] = {"doctor",
                        {"doctor [-p PID] [--json]"},
                        "say what would stop wallspy here, and the line that helps"},
    [COMMAND_REPORT] =
        {"report",
         {"report FILE.wallspy [options]", "report DUMPS... [--brief|--json] [--map FILE]"},
         "say what a recording (or its .json) says, or which of many dumps is elsewhere"},
    [COMMAND_EXPORT] = {"export",
                        {"export FILE.wallspy [-f FORMAT] [-o OUT] [options]"},
                        "write a recording in another format, as record would have"},
    [COMMAND_CTL] = {"ctl",
                     {"ctl [PID] status [--json]|snapshot|mark TEXT|pause|resume|stop"},
                     "steer a recording that runs (PID: the target's), or list those that do"},
    [COMMAND_PY_SPY] = {"py-spy",
                        {"py-spy dump|record ARGS..."},
                        "take py-spy's command line, and print what py-spy prints"},
    [COMMAND_INSTALL_PY_SPY] = {"install-py-spy",
                                {"install-py-spy DIR"},
                                "make a link DIR/py-spy to wallspy, for programs that run py-spy"},
};
