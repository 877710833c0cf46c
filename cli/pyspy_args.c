#include "cli/pyspy_args.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

enum { FOR_SPY_DUMP = 1, FOR_SPY_RECORD = 2, FOR_BOTH = FOR_SPY_DUMP | FOR_SPY_RECORD };
enum { HELP_WIDTH = 79, HELP_COLUMN = 26, MOST_ROWS = 32 };

struct line {
    struct options *o;
    char *const *next; /* the next argument */
    struct err *err;
    unsigned command; /* FOR_SPY_… */
    enum options_result result;
    const char *suffix; /* of the format */
    bool given[MOST_ROWS];
};

struct row {
    char letter; /* 0: none */
    const char *name;
    const char *value; /* its name in the help; NULL: takes none */
    unsigned commands;
    const char *ours; /* wallspy's word for it; NULL: finish() sees to it */
    const char *help;
    int (*take)(struct line *l, const struct row *row, const char *value); /* NULL: adds OURS */
    const char *refused; /* why; NULL: it is not */
};

/* ---- wallspy's words ---- */

/* WORD becomes RET's. */
static void add_owned(struct line *l, const char *word)
{
    struct word_list *words = &l->o->translated;
    words->words = array_reserve(words->words, &words->capacity, words->n + 2, sizeof(char *));
    words->words[words->n++] = word;
    words->words[words->n] = NULL;
}

static void add_word(struct line *l, const char *word)
{
    add_owned(l, xstrdup(word));
}

/* In decimal or, as 0x…, in hexadecimal. */
static int take_pid(struct line *l, const struct row *row, const char *value)
{
    bool hex = strncasecmp(value, "0x", 2) == 0;
    const char *digits = value + (hex ? 2 : 0);
    const char *end = digits + strlen(digits);
    uint64_t pid = 0;
    if (parse_u64(digits, end, hex ? 16 : 10, &pid) != end || pid < 1 || pid > INT_MAX)
        return err_set(l->err, -EINVAL, "--pid %s: py-spy takes one process id, such as 1234",
                       value);
    add_word(l, row->ours);
    add_owned(l, xasprintf("%llu", (unsigned long long)pid));
    return 0;
}

/* A percent sign means nothing to py-spy, nor does "none". */
static int take_output(struct line *l, const struct row *row, const char *value)
{
    struct text path = {0};
    text_add(&path, str_eq(value, "none") ? "./" : "");
    for (const char *s = value; *s; s++)
        text_addf(&path, "%s%c", *s == '%' ? "%" : "", *s);
    add_word(l, row->ours);
    add_owned(l, path.s);
    return 0;
}

static int take_format(struct line *l, const struct row *row, const char *value)
{
    static const struct {
        const char *name, *suffix;
    } formats[] = {{"flamegraph", ".svg"}, {"raw", ".txt"}, {"speedscope", ".json"}};
    if (strcasecmp(value, "chrometrace") == 0)
        return err_set(
            l->err, -EINVAL,
            "--format %s: wallspy writes no such file; give -f speedscope, which has the "
            "order in time, too",
            value);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcasecmp(value, formats[i].name) != 0)
            continue;
        add_word(l, row->ours);
        add_word(l, formats[i].name);
        l->suffix = formats[i].suffix;
        return 0;
    }
    return err_set(l->err, -EINVAL, "--format %s: flamegraph, raw or speedscope", value);
}

static const struct row rows[] = {
    {'p', "pid", "PID", FOR_BOTH, "--pid", "the process: one, in decimal or as 0x...", take_pid, 0},
    {'n', "native", 0, FOR_BOTH, 0,
     "show C and C++ frames, and threads that run no Python (wallspy: --native=full)", 0, 0},
    {0, "native-all", 0, FOR_SPY_DUMP, 0, "the same", 0, 0},
    {'s', "subprocesses", 0, FOR_BOTH, "--subprocesses", "take the children and theirs, too", 0, 0},
    {0, "nonblocking", 0, FOR_BOTH, "--no-stop",
     "never hold a thread (wallspy: --no-stop); goes with --native", 0, 0},
    {0, "full-filenames", 0, FOR_BOTH, 0, "show whole paths, not from the package on", 0, 0},
    {'l', "locals", 0, FOR_SPY_DUMP, "--locals", "show variables of Python's functions", 0, 0},
    {'j', "json", 0, FOR_SPY_DUMP, "--json", "print JSON", 0, 0},
    {'c', "core", "FILE", FOR_SPY_DUMP, 0, "refused", 0,
     "wallspy reads running processes, and no core files; pystack core reads them"},
    {'o', "output", "FILE", FOR_SPY_RECORD, "--output",
     "write to FILE (default PID-TIME and the format's suffix)", take_output, 0},
    {'f', "format", "NAME", FOR_SPY_RECORD, "--format",
     "flamegraph (default), raw or speedscope; chrometrace is refused", take_format, 0},
    {'d', "duration", "SECONDS", FOR_SPY_RECORD, "--duration",
     "stop after SECONDS; the process runs on", 0, 0},
    {'r', "rate", "HZ", FOR_SPY_RECORD, "--rate", "samples a second", 0, 0},
    {'F', "function", 0, FOR_SPY_RECORD, 0,
     "a frame for each function, not for each line (wallspy: without --lines)", 0, 0},
    {0, "nolineno", 0, FOR_SPY_RECORD, 0, "the same", 0, 0},
    {'t', "threads", 0, FOR_SPY_RECORD, "--threads", "done in any case", 0, 0},
    {'g', "gil", 0, FOR_SPY_RECORD, "--gil", "keep only samples that hold the GIL", 0, 0},
    {'i', "idle", 0, FOR_SPY_RECORD, "--idle", "done in any case", 0, 0},
    {0, "hideprogress", 0, FOR_SPY_RECORD, "--hideprogress", "show no line of progress", 0, 0},
    {0, "capture", 0, FOR_SPY_RECORD, 0, "refused", 0,
     "wallspy leaves the program's output alone; send it to a file by the shell's > instead"},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };
static_assert(sizeof rows / sizeof *rows <= MOST_ROWS, "each row has its place");

/* ---- reading ---- */

static const char *command_name(const struct line *l)
{
    return l->command == FOR_SPY_DUMP ? "dump" : "record";
}

/* VALUE: from the same argument; NULL: it has none. */
static int take(struct line *l, const struct row *row, const char *value)
{
    if (row->value && !value) {
        value = *l->next;
        if (!value)
            return err_set(l->err, -EINVAL, "--%s needs a value: %s", row->name, row->value);
        l->next++;
    }
    l->given[row - rows] = true;
    if (row->refused)
        return err_set(l->err, -EINVAL, "--%s: %s", row->name, row->refused);
    if (row->take)
        return row->take(l, row, value);
    if (row->ours)
        add_word(l, row->ours);
    if (value)
        add_word(l, value);
    return 0;
}

static int unknown(const struct line *l, const char *written)
{
    return err_set(l->err, -EINVAL, "py-spy %s has no option %s (see py-spy --help)",
                   command_name(l), written);
}

static int take_long(struct line *l, const char *arg)
{
    const char *name = arg + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const struct row *row = &rows[i];
        if (!(row->commands & l->command) || strlen(row->name) != len ||
            memcmp(row->name, name, len) != 0)
            continue;
        if (value && !row->value)
            return err_set(l->err, -EINVAL, "--%s takes no value", row->name);
        return take(l, row, value);
    }
    return unknown(l, arg);
}

static const struct row *find_letter(const struct line *l, char letter)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].letter == letter && rows[i].commands & l->command)
            return &rows[i];
    return NULL;
}

/* "-ll", "-p12", "-p=12". */
static int take_letters(struct line *l, const char *arg)
{
    int r = 0;
    for (const char *s = arg + 1; *s && r == 0; s++) {
        const struct row *row = find_letter(l, *s);
        if (!row)
            return unknown(l, arg);
        if (row->value)
            return take(l, row, s[1] ? s + 1 + (s[1] == '=') : NULL);
        r = take(l, row, NULL);
    }
    return r;
}

/* Is ARG asked everywhere?  The result is set then. */
static bool take_question(struct line *l, const char *arg)
{
    if (str_eq(arg, "-h") || str_eq(arg, "--help"))
        l->result = OPTIONS_HELP;
    if (str_eq(arg, "-V") || str_eq(arg, "--version"))
        l->result = OPTIONS_VERSION;
    return l->result != OPTIONS_RUN;
}

/* Reads options up to the program that is to be launched. */
static int take_arguments(struct line *l)
{
    int r = 0;
    while (*l->next && r == 0) {
        const char *arg = *l->next;
        if (arg[0] != '-' || !arg[1] || str_eq(arg, "--"))
            return 0;
        if (take_question(l, arg))
            return 0;
        l->next++;
        r = arg[1] == '-' ? take_long(l, arg) : take_letters(l, arg);
    }
    return r;
}

static bool is_given(const struct line *l, const char *name)
{
    size_t i = 0;
    while (!str_eq(rows[i].name, name))
        i++;
    return l->given[i];
}

/* What py-spy does unless it is told otherwise. */
static void add_defaults(struct line *l, bool lines)
{
    bool native = is_given(l, "native") || is_given(l, "native-all");
    add_word(l, native ? "--native=full" : "--native=off");
    l->o->full_filenames = is_given(l, "full-filenames");
    if (l->command == FOR_SPY_DUMP) {
        add_word(l, "--quiet");
        return;
    }
    if (lines)
        add_word(l, "--lines");
    if (!is_given(l, "format"))
        add_word(l, "--format=flamegraph");
    if (!is_given(l, "output"))
        add_owned(l, xasprintf("--output=%%p-%%t%s", l->suffix));
}

static int finish(struct line *l)
{
    bool function = is_given(l, "function");
    bool no_lines = is_given(l, "nolineno");
    if (function && no_lines)
        return err_set(l->err, -EINVAL, "--function and --nolineno: choose one");
    add_defaults(l, !function && !no_lines);
    if (*l->next && !str_eq(*l->next, "--"))
        add_word(l, "--"); /* a number is no process id here */
    for (; *l->next; l->next++)
        add_word(l, *l->next);
    return 0;
}

/* py-spy takes the beginning of a command's name for it. */
static int take_command(struct line *l)
{
    static const struct {
        const char *name;
        unsigned command;
    } commands[] = {{"dump", FOR_SPY_DUMP}, {"record", FOR_SPY_RECORD}, {"top", 0}, {"help", 0}};
    const char *word = *l->next;
    if (!word)
        return err_set(l->err, -EINVAL, "py-spy: give dump or record (see py-spy --help)");
    if (take_question(l, word))
        return 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!*word || !str_starts(commands[i].name, word))
            continue;
        l->next++;
        l->command = commands[i].command;
        if (l->command)
            return 0;
        if (str_eq(commands[i].name, "top"))
            return err_set(l->err, -EINVAL,
                           "py-spy top: wallspy has no live view. wallspy dump -p PID says what "
                           "each thread does now, wallspy -p PID -d 10 -o none where ten seconds "
                           "went");
        l->result = OPTIONS_HELP;
        return 0;
    }
    return err_set(l->err, -EINVAL, "py-spy %s: there is dump and record (see py-spy --help)",
                   word);
}

enum options_result pyspy_translate(struct options *ret, char *const *argv, struct err *err)
{
    struct line l = {.o = ret, .next = argv, .err = err, .result = OPTIONS_RUN, .suffix = ".svg"};
    ret->as_py_spy = true;
    if (take_command(&l) < 0)
        return OPTIONS_BAD;
    if (l.result != OPTIONS_RUN)
        return l.result;
    add_word(&l, "wallspy");
    add_word(&l, command_name(&l));
    if (take_arguments(&l) < 0)
        return OPTIONS_BAD;
    if (l.result == OPTIONS_RUN && finish(&l) < 0)
        return OPTIONS_BAD;
    return l.result;
}

/* ---- help ---- */

static void add_row(const struct row *row, struct text *out)
{
    size_t start = out->len;
    text_addf(out, row->letter ? "  -%c, --%s" : "  %.0d    --%s", row->letter, row->name);
    text_addf(out, row->value ? " %s" : "%.0s", row->value ? row->value : "");
    size_t n = out->len - start;
    text_addf(out, "%*s", n < HELP_COLUMN ? (int)(HELP_COLUMN - n) : 1, "");
    text_add_wrapped(out, row->help, HELP_COLUMN, HELP_COLUMN, HELP_WIDTH);
    text_add(out, "\n");
}

void pyspy_add_help(struct text *out)
{
    static const struct {
        unsigned commands;
        const char *title;
    } parts[] = {{FOR_BOTH, "options of dump and record"},
                 {FOR_SPY_DUMP, "options of dump"},
                 {FOR_SPY_RECORD, "options of record"}};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        text_addf(out, "\n%s:\n", parts[p].title);
        for (size_t i = 0; i < ROW_COUNT; i++)
            if (rows[i].commands == parts[p].commands)
                add_row(&rows[i], out);
    }
    text_add(out, "\nexit codes: 0 ok, 1 failed, 2 usage\n");
}
