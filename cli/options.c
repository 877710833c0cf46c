#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/options_table.h"
#include "cli/pyspy_args.h"

enum { DEFAULT_RATE_HZ = 100, DEFAULT_BYTES = 256 << 20, MAX_NAME = 32 };
/* A rate that the user asked for may cost more than the default rate. */
static const double default_overhead = 0.01;
static const double default_overhead_with_rate = 0.05;

/* Names of commands of later versions.  A program of such a name is not launched, because the same
 * line will mean the command later. */
static const char *const reserved[] = {"top", "diff"};

struct parser {
    struct options *o;
    char *const *next; /* the next argument; NULL at the end */
    struct err *err;
    enum options_result result;
};

/* How many letters must change to make B of A: Levenshtein's distance. */
static size_t distance(const char *a, const char *b)
{
    size_t row[MAX_NAME + 1];
    size_t len = strlen(b);
    if (len > MAX_NAME)
        return MAX_NAME;
    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (; *a; a++) {
        size_t diagonal = row[0]++;
        for (size_t j = 1; j <= len; j++) {
            size_t best = diagonal + (*a != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[len];
}

/* The option of COMMANDS whose name is nearest to NAME; NULL if none is near. */
static const struct option_row *nearest(const char *name, unsigned commands)
{
    const struct option_row *best = NULL;
    size_t best_distance = strlen(name) / 3 + 2;
    for (size_t i = 0; i < option_row_count; i++) {
        size_t d = distance(name, option_rows[i].name);
        if ((option_rows[i].commands & commands) && d < best_distance) {
            best = &option_rows[i];
            best_distance = d;
        }
    }
    return best;
}

/* Two commands may each have an option of one name: that of COMMAND, else any. */
static const struct option_row *find_name(const char *name, size_t len, enum command command)
{
    const struct option_row *other = NULL;
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (strlen(row->name) != len || memcmp(row->name, name, len) != 0)
            continue;
        if (row->commands & 1U << command)
            return row;
        other = other ? other : row;
    }
    return other;
}

static const struct option_row *find_letter(char letter)
{
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].letter == letter)
            return &option_rows[i];
    return NULL;
}

static int unknown(const struct parser *p, const char *written)
{
    const char *name = written + strspn(written, "-");
    size_t len = strcspn(name, "=");
    char *bare = xasprintf("%.*s", (int)len, name);
    const struct option_row *near = len > 1 ? nearest(bare, 1U << p->o->command) : NULL;
    free(bare);
    int shown = (int)(name - written + (ptrdiff_t)len);
    if (near)
        return err_set(p->err, -EINVAL, "unknown option %.*s: did you mean --%s?", shown, written,
                       near->name);
    return err_set(p->err, -EINVAL, "unknown option %.*s (see wallspy %s --help)", shown, written,
                   command_rows[p->o->command].name);
}

/* Whether ROW is an option of this command; ERR says whose it is if not. */
static int check_command(const struct parser *p, const struct option_row *row)
{
    if (row->commands & (1U << p->o->command))
        return 0;
    unsigned whose = 0;
    while (!(row->commands & (1U << whose)))
        whose++;
    return err_set(p->err, -EINVAL, "--%s is an option of wallspy %s, not of %s", row->name,
                   command_rows[whose].name, command_rows[p->o->command].name);
}

static int apply(struct parser *p, const struct option_row *row, const char *value)
{
    if (row->set)
        return row->set(p->o, row, value, p->err);
    p->result = row->letter == 'h' ? OPTIONS_HELP : OPTIONS_VERSION;
    return 0;
}

/* VALUE: from the same argument; NULL: it has none. */
static int apply_with_value(struct parser *p, const struct option_row *row, const char *value)
{
    if (!value && row->value && !row->optional) {
        value = *p->next;
        if (!value)
            return err_set(p->err, -EINVAL, "--%s needs a value: %s", row->name, row->value);
        p->next++;
    }
    return apply(p, row, value);
}

/* --threads is py-spy's flag. */
static int suggest_thread(const char *value, struct err *err)
{
    return err_set(err, -EINVAL, "--threads takes no value: did you mean --thread %s?", value);
}

static int parse_long(struct parser *p, const char *arg)
{
    const char *name = arg + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    const struct option_row *row = find_name(name, len, p->o->command);
    if (!row)
        return unknown(p, arg);
    int r = check_command(p, row);
    if (r < 0)
        return r;
    if (value && str_eq(row->name, "threads") && p->o->command != COMMAND_REPORT)
        return suggest_thread(value, p->err);
    if (value && !row->value)
        return err_set(p->err, -EINVAL, "--%s takes no value", row->name);
    return apply_with_value(p, row, value);
}

/* "-sti", "-r10", "-r 10". */
static int parse_cluster(struct parser *p, const char *arg)
{
    for (const char *s = arg + 1; *s; s++) {
        const struct option_row *row = find_letter(*s);
        if (!row) {
            const char letter[] = {'-', *s, '\0'};
            return unknown(p, nearest(arg + 1, ~0U) ? arg : letter);
        }
        int r = check_command(p, row);
        if (r < 0)
            return r;
        if (row->value && !row->optional)
            return apply_with_value(p, row, s[1] ? s + 1 : NULL);
        r = apply(p, row, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool takes_pids(enum command command)
{
    return command == COMMAND_RECORD || command == COMMAND_DUMP || command == COMMAND_DOCTOR;
}

static bool all_digits(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == '\0';
}

static void add_input(struct options *o, const char *arg)
{
    o->inputs.words = array_reserve(o->inputs.words, &o->inputs.capacity, o->inputs.n + 1,
                                    sizeof *o->inputs.words);
    o->inputs.words[o->inputs.n++] = arg;
}

static bool takes_inputs(enum command command)
{
    return command == COMMAND_REPORT || command == COMMAND_EXPORT;
}

/* Takes ARG if it is a file to read; these may stand before options, too. */
static bool take_input(struct options *o, const char *arg)
{
    if (!takes_inputs(o->command) || (arg[0] == '-' && arg[1]))
        return false;
    add_input(o, arg);
    return true;
}

/* What stands behind "--" are operands. */
static void take_operands(struct parser *p)
{
    while (takes_inputs(p->o->command) && *p->next)
        add_input(p->o, *p->next++);
    p->o->argv = *p->next ? p->next : NULL;
}

static int parse_argument(struct parser *p, const char *arg)
{
    if (arg[0] != '-')
        return apply(p, &option_rows[OPTION_ROW_PID], arg);
    if (arg[1] == '-')
        return parse_long(p, arg);
    return arg[1] ? parse_cluster(p, arg) : unknown(p, arg);
}

/* Reads options up to the first operand that is no number, or "--". */
static int parse_arguments(struct parser *p)
{
    struct options *o = p->o;
    while (*p->next && p->result == OPTIONS_RUN) {
        const char *arg = *p->next;
        bool input = take_input(o, arg);
        if (!input && arg[0] != '-' && !(takes_pids(o->command) && all_digits(arg))) {
            o->argv = p->next;
            return 0;
        }
        p->next++;
        if (str_eq(arg, "--")) {
            take_operands(p);
            return 0;
        }
        int r = input ? 0 : parse_argument(p, arg);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Was the operand meant as a value of --threads, which takes none? */
static bool names_threads(const struct options *o)
{
    const char *operand = o->argv[0];
    const char *next = o->argv[1] ? o->argv[1] : "";
    return str_eq(o->argv[-1], "--threads") &&
           (o->n_pids || strchr(operand, '*') || str_eq(operand, "main") ||
            str_eq(operand, "native") || str_starts(next, "-p") || str_starts(next, "--pid"));
}

static int check_output(const struct options *o, struct err *err)
{
    if (!o->no_output || !(o->outputs.n || o->format))
        return 0;
    return err_set(err, -EINVAL, "-o none writes no file: leave out %s",
                   o->outputs.n ? "the other -o" : "--format");
}

static int check_doctor(const struct options *o, struct err *err)
{
    if (o->argv)
        return err_set(err, -EINVAL, "%s: doctor takes a process id: wallspy doctor -p PID",
                       o->argv[0]);
    return o->n_pids <= 1 ? 0 : err_set(err, -EINVAL, "doctor looks at one process: give one PID");
}

static int check_folder(const struct options *o, struct err *err)
{
    if (o->argv && !o->argv[1])
        return 0;
    return err_set(err, -EINVAL, "install-py-spy takes one folder, such as ~/.local/bin");
}

static int check_rows(const struct options *o, struct err *err)
{
    bool tables = o->tables.functions || o->tables.waits || o->tables.tree;
    if ((o->include.n || o->exclude.n) && !tables && !o->json)
        return err_set(err, -EINVAL,
                       "--%s chooses rows of a table: give --functions, --waits, --tree or --json",
                       o->include.n ? "include" : "exclude");
    if ((o->least_share > 0 || o->least_ns) && !tables)
        return err_set(err, -EINVAL,
                       "--min chooses rows of a table: give --functions, --waits or --tree");
    return 0;
}

static int check_report(const struct options *o, struct err *err)
{
    bool tables = o->tables.threads || o->tables.functions || o->tables.waits || o->tables.tree;
    if (!o->inputs.n)
        return err_set(err, -EINVAL, "report needs a recording or dumps: wallspy report FILE...");
    if (o->brief + o->json + tables + (o->why != NULL) > 1)
        return err_set(err, -EINVAL, "report prints one of these: --brief, --json, --why, tables");
    return check_rows(o, err);
}

static int check_export(const struct options *o, struct err *err)
{
    if (o->inputs.n != 1 || o->outputs.n > 1 || o->no_output)
        return err_set(err, -EINVAL,
                       "export takes one recording and one -o: wallspy export FILE -o OUT");
    if (!o->format && !o->outputs.n)
        return err_set(err, -EINVAL, "export needs a format: -f NAME, or -o OUT by its suffix");
    return 0;
}

static int check_standby(const struct options *o, struct err *err)
{
    return o->argv ? 0 : err_set(err, -EINVAL, "standby needs a command to run");
}

/* Of record and dump. */
static int check_look(const struct options *o, struct err *err)
{
    if (o->command == COMMAND_DUMP && o->argv)
        return err_set(err, -EINVAL, "%s: dump takes process ids: wallspy dump -p PID", o->argv[0]);
    if (o->argv && names_threads(o))
        return suggest_thread(o->argv[0], err);
    if (o->n_pids && o->argv)
        return err_set(err, -EINVAL, "either process ids or a command (%s), not both", o->argv[0]);
    if (!o->n_pids && !o->argv)
        return err_set(err, -EINVAL, "%s: give -p PID%s", command_rows[o->command].name,
                       o->command == COMMAND_RECORD ? " or a command to launch" : "");
    if (o->view.no_native && o->view.no_python)
        return err_set(err, -EINVAL, "--native=off with --no-python leaves nothing to show");
    if (o->freeze && o->no_stop)
        return err_set(err, -EINVAL, "--freeze stops all threads, --no-stop none: choose one");
    if (o->now && o->twice_ns)
        return err_set(err, -EINVAL, "--now looks once, --twice for a while: choose one");
    return check_output(o, err);
}

static int check(const struct options *o, struct err *err)
{
    static int (*const checks[COMMAND_COUNT])(const struct options *o, struct err *err) = {
        [COMMAND_RECORD] = check_look,     [COMMAND_DUMP] = check_look,
        [COMMAND_STANDBY] = check_standby, [COMMAND_DOCTOR] = check_doctor,
        [COMMAND_REPORT] = check_report,   [COMMAND_EXPORT] = check_export,
        [COMMAND_PY_SPY] = check_look,     [COMMAND_INSTALL_PY_SPY] = check_folder,
    };
    return checks[o->command] ? checks[o->command](o, err) : 0; /* ctl.c checks its words itself */
}

/* NAME is no command of this version: a program to launch, or a mistake. */
static int check_not_command(const struct parser *p, const char *name)
{
    if (p->result == OPTIONS_HELP)
        return err_set(p->err, -EINVAL,
                       "help %s: there is no such command (wallspy help lists them)", name);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (str_eq(name, reserved[i]))
            return err_set(p->err, -EINVAL,
                           "this version has no command %s (to launch a program of that name: "
                           "wallspy -- %s)",
                           name, name);
    return 0;
}

/* Takes the name of a command from the first argument, if it is one; "help" may precede it. */
static int parse_command(struct parser *p)
{
    if (str_eq(*p->next, "help")) {
        p->result = OPTIONS_HELP;
        p->next++;
        if (!*p->next || **p->next == '-' || str_eq(*p->next, "help"))
            return 0;
    }
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        if (str_eq(*p->next, command_rows[i].name)) {
            p->o->command = (enum command)i;
            p->next++;
            return 0;
        }
    }
    return check_not_command(p, *p->next);
}

static enum options_result finish(struct parser *p)
{
    struct options *ret = p->o;
    if (ret->max_overhead <= 0)
        ret->max_overhead = ret->rate_given ? default_overhead_with_rate : default_overhead;
    if (ret->process_name)
        return OPTIONS_NAME;
    return check(ret, p->err) < 0 ? OPTIONS_BAD : OPTIONS_RUN;
}

/* Reads what is left of wallspy's own command line. */
static enum options_result parse_own(struct parser *p)
{
    if (parse_arguments(p) < 0)
        return OPTIONS_BAD;
    return p->result == OPTIONS_RUN ? finish(p) : p->result;
}

static enum options_result parse_py_spy(struct parser *p)
{
    p->o->command = COMMAND_PY_SPY;
    p->result = pyspy_translate(p->o, p->next, p->err);
    if (p->result != OPTIONS_RUN)
        return p->result;
    p->next = (char *const *)p->o->translated.words + 1;
    return parse_command(p) < 0 ? OPTIONS_BAD : parse_own(p);
}

enum options_result options_parse(struct options *ret, int argc, char *const *argv, struct err *err)
{
    *ret = (struct options){.rate_hz = DEFAULT_RATE_HZ, .max_bytes = DEFAULT_BYTES};
    struct parser p = {.o = ret, .next = argv + 1, .err = err, .result = OPTIONS_RUN};
    if (argc > 0 && str_eq(path_base(argv[0]), "py-spy"))
        return parse_py_spy(&p);
    if (argc < 2)
        return OPTIONS_USAGE;
    if (parse_command(&p) < 0)
        return OPTIONS_BAD;
    return ret->command == COMMAND_PY_SPY && p.result == OPTIONS_RUN ? parse_py_spy(&p)
                                                                     : parse_own(&p);
}

void options_release(struct options *o)
{
    struct word_list *const owned[] = {&o->threads, &o->processes, &o->include, &o->exclude,
                                       &o->translated};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        for (size_t k = 0; k < owned[i]->n; k++)
            free((char *)owned[i]->words[k]);
        free(owned[i]->words);
    }
    free(o->outputs.words);
    free(o->inputs.words);
    free(o->pids);
    text_release(&o->known);
    *o = (struct options){0};
}
