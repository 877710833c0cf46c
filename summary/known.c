#include "summary/known.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "summary/asks.h"
#include "summary/frame_name.h"
#include "summary/futex_kind.h"
#include "summary/known_def.h"
#include "summary/spinning.h"
#include "summary/view.h"

static const double usual_least_share = 0.2;

/* ---- what a row may say ---- */

static const char *const spin_names[SPIN_KINDS] = {
    [SPIN_GPU] = "gpu", [SPIN_NCCL] = "nccl", [SPIN_OPENMP] = "openmp",
    [SPIN_TBB] = "tbb", [SPIN_BLAS] = "blas", [SPIN_OPENMP_LOCK] = "openmp-lock",
    [SPIN_UCX] = "ucx", [SPIN_MPI] = "mpi",   [SPIN_LOCK] = "lock",
};
static const char *const futex_names[] = {
    [FUTEX_UNKNOWN] = "unknown",     [FUTEX_LOCK] = "lock",           [FUTEX_RWLOCK] = "rwlock",
    [FUTEX_CONDITION] = "condition", [FUTEX_SEMAPHORE] = "semaphore", [FUTEX_JOIN] = "join",
    [FUTEX_BARRIER] = "barrier",
};
static const char *const asked_names[] = {
    [ASKED_CHILD] = "child",
    [ASKED_FILE] = "file",
    [ASKED_LOCK] = "lock",
    [ASKED_RESULT] = "result",
};

enum { ALONE = 1, WITH_VALUE = 2 };
/* KEY or KEY=VALUE.  Where there are NAMES the value is one of them. */
static const struct key {
    const char *name;
    enum known_kind kind;
    unsigned forms;
    const char *const *names;
    size_t n_names;
} keys[] = {
    {"pool", KNOWN_POOL, ALONE | WITH_VALUE, NULL, 0},
    {"joined", KNOWN_JOINED, ALONE | WITH_VALUE, NULL, 0},
    {"workers", KNOWN_WORKERS, WITH_VALUE, NULL, 0},
    {"results", KNOWN_RESULTS, ALONE, NULL, 0},
    {"takes", KNOWN_TAKES, ALONE, NULL, 0},
    {"puts", KNOWN_PUTS, ALONE, NULL, 0},
    {"loop", KNOWN_LOOP, WITH_VALUE, NULL, 0},
    {"poller", KNOWN_POLLER, ALONE, NULL, 0},
    {"answer", KNOWN_ANSWER, ALONE, NULL, 0},
    {"spin", KNOWN_SPIN, WITH_VALUE, spin_names, sizeof spin_names / sizeof *spin_names},
    {"futex", KNOWN_FUTEX, WITH_VALUE, futex_names, sizeof futex_names / sizeof *futex_names},
    {"sleeps", KNOWN_SLEEPS, WITH_VALUE, asked_names, sizeof asked_names / sizeof *asked_names},
    {"asks", KNOWN_ASKS, WITH_VALUE, asked_names, sizeof asked_names / sizeof *asked_names},
    {"own", KNOWN_OWN, ALONE, NULL, 0},
    {"library", KNOWN_LIBRARY, ALONE, NULL, 0},
    {"glue", KNOWN_GLUE, ALONE, NULL, 0},
    {"slow", KNOWN_SLOW, WITH_VALUE, NULL, 0},
    /* Of slow code: no kinds of their own. */
    {"remedy", KNOWN_KINDS, WITH_VALUE, NULL, 0},
    {"unless", KNOWN_KINDS, WITH_VALUE, NULL, 0},
    {"least", KNOWN_KINDS, WITH_VALUE, NULL, 0},
};

/* ---- reading ---- */

struct reader {
    struct known_table *t;
    char *at; /* within a line, whose tokens are cut out in place */
    unsigned line;
    char *value_end; /* of the value before, in a row; NULL: none, which a line could go on with */
    struct err *err;
};

static int fail(const struct reader *r, const char *what, const char *word)
{
    return err_set(r->err, -EINVAL, "line %u: %s%s%s", r->line, what, *word ? ": " : "", word);
}

/* The next token, without its quotes; NULL: none before a comment or the end.  *RET_QUOTED: it
 * begins with a quote.  *RET_END: behind it. */
static char *next_token(struct reader *r, bool *ret_quoted, char **ret_end)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
    if (!*r->at || *r->at == '#')
        return NULL;
    char *token = r->at;
    char *end = token;
    bool quoted = false;
    *ret_quoted = *token == '"';
    for (; *r->at && (quoted || !isspace((unsigned char)*r->at)); r->at++)
        if (*r->at == '"')
            quoted = !quoted;
        else
            *end++ = *r->at;
    r->at += *r->at != '\0';
    *end = '\0';
    *ret_end = end;
    return token;
}

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (str_eq(keys[i].name, name))
            return &keys[i];
    return NULL;
}

static int find_name(const struct key *key, const char *value)
{
    for (size_t i = 0; i < key->n_names; i++)
        if (key->names[i] && str_eq(key->names[i], value))
            return (int)i;
    return -1;
}

static int set_share(const struct reader *r, struct known_row *row, const char *value)
{
    char *end;
    row->least_share = strtod(value, &end);
    bool share = end != value && !*end && row->least_share > 0 && row->least_share <= 1;
    return share ? 0 : fail(r, "no share from 0 to 1", value);
}

static void set_texts(struct known_row *row, const struct key *key, const char *value)
{
    if (key->kind == KNOWN_POOL || key->kind == KNOWN_JOINED || key->kind == KNOWN_WORKERS)
        row->pool = value;
    else if (key->kind == KNOWN_LOOP)
        row->loop = value;
    else if (key->kind == KNOWN_SLOW)
        row->slow = value;
    else if (str_eq(key->name, "remedy"))
        row->remedy = value;
    else if (str_eq(key->name, "unless"))
        row->unless = value;
}

static int set(const struct reader *r, struct known_row *row, const struct key *key,
               const char *value)
{
    int name = key->n_names ? find_name(key, value) : 0;
    if (name < 0)
        return fail(r, "unknown value", value);
    if (key->kind < KNOWN_KINDS)
        row->is |= 1U << key->kind;
    if (key->kind == KNOWN_JOINED)
        row->is |= 1U << KNOWN_POOL;
    if (key->kind == KNOWN_SPIN)
        row->spin = name;
    else if (key->kind == KNOWN_FUTEX)
        row->futex = name;
    else if (key->n_names)
        row->asked = name;
    set_texts(row, key, value);
    return str_eq(key->name, "least") ? set_share(r, row, value) : 0;
}

/* KEY, KEY=VALUE, or what a value goes on with. */
static int read_word(struct reader *r, struct known_row *row, char *token, bool quoted, char *end)
{
    if (quoted) {
        if (!r->value_end)
            return fail(r, "a text without a name", token);
        memmove(r->value_end, token, (size_t)(end - token) + 1);
        r->value_end += end - token;
        return 0;
    }
    char *value = strchr(token, '=');
    if (value)
        *value++ = '\0';
    const struct key *key = find_key(token);
    r->value_end = value ? end : NULL;
    if (!key)
        return fail(r, "unknown word", token);
    if (!(key->forms & (value ? WITH_VALUE : ALONE)))
        return fail(r, value ? "takes no value" : "needs a value", token);
    return set(r, row, key, value);
}

static int add_row(struct reader *r, char *function, char *in)
{
    struct known_table *t = r->t;
    if (!in)
        return fail(r, "no file or module, nor - for any native code", function);
    t->rows = array_reserve(t->rows, &t->capacity, t->n + 1, sizeof *t->rows);
    t->rows[t->n++] = (struct known_row){.function = function,
                                         .in = str_eq(in, "-") ? NULL : in,
                                         .python = str_ends(in, ".py"),
                                         .least_share = usual_least_share};
    r->value_end = NULL;
    return 0;
}

/* FUNCTION FILE-OR-MODULE WORDS…, or more words of the row before if it is indented. */
static int read_line(struct reader *r, char *line)
{
    bool quoted;
    char *end;
    char *token;
    bool goes_on = isspace((unsigned char)*line);
    r->at = line;
    if (!goes_on && (token = next_token(r, &quoted, &end))) {
        int rc = add_row(r, token, next_token(r, &quoted, &end));
        if (rc < 0)
            return rc;
    }
    while ((token = next_token(r, &quoted, &end))) {
        if (!r->t->n)
            return fail(r, "no row to go on with", token);
        int rc = read_word(r, &r->t->rows[r->t->n - 1], token, quoted, end);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int check_quotes(const struct reader *r, const char *line)
{
    size_t n = 0;
    for (const char *at = line; *at; at++)
        n += *at == '"';
    return n % 2 && line[strspn(line, " \t")] != '#' ? fail(r, "a quote has no end", "") : 0;
}

/* Adds the rows of TEXT. */
static int read_rows(struct known_table *t, const char *text, struct err *err)
{
    struct reader r = {.t = t, .err = err};
    char *copy = xstrdup(text);
    t->texts = array_reserve(t->texts, &t->texts_capacity, t->n_texts + 1, sizeof *t->texts);
    t->texts[t->n_texts++] = copy;
    for (char *line = copy, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r.line++;
        int rc = check_quotes(&r, line);
        if (rc == 0)
            rc = read_line(&r, line);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int check_slow(const struct known_table *t, struct err *err)
{
    enum { MOST = KNOWN_MOST_SLOW / 2 };
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct known_row *row = &t->rows[i];
        bool slow = row->is >> KNOWN_SLOW & 1;
        if (slow != (row->remedy != NULL))
            return err_set(err, -EINVAL, "slow= and remedy= belong together: %s", row->function);
        n += slow;
    }
    return n <= MOST ? 0 : err_set(err, -EINVAL, "more than %d rows of slow code", MOST);
}

int known_init(struct known_table *t, const char *text, struct err *err)
{
    *t = (struct known_table){.n = 0};
    int rc = text ? read_rows(t, text, err) : 0;
    if (rc == 0)
        rc = check_slow(t, err);
    if (rc < 0)
        t->n = 0;
    struct err own = {0};
    (void)read_rows(t, known_def, &own); /* the test known reads it, too */
    return rc;
}

const char *known_text(void)
{
    return known_def;
}

void known_release(struct known_table *t)
{
    for (size_t i = 0; i < t->n_texts; i++)
        free(t->texts[i]);
    free(t->texts);
    free(t->rows);
    *t = (struct known_table){.n = 0};
}

/* ---- finding ---- */

/* The C library's functions have prefixes, and "*" stands for their ends: "__isoc99_sscanf", and no
 * getrandom() for random(). */
static bool is_libc_function(const char *name, const char *function)
{
    size_t len = strlen(function);
    size_t n = strlen(name);
    if (function[len - 1] == '*')
        return strncmp(frame_libc_name(name), function, len - 1) == 0;
    return str_eq(frame_libc_name(name), function) ||
           (str_ends(name, function) && n > len && name[n - len - 1] == '_');
}

static bool is_in(const struct known_row *row, const struct shown_frame *f)
{
    if (f->kind == SHOWN_PYTHON || row->python)
        return f->kind == SHOWN_PYTHON && row->python && f->file && str_ends(f->file, row->in);
    if (f->kind != SHOWN_NATIVE || !row->in)
        return f->kind == SHOWN_NATIVE;
    if (str_eq(row->in, "libc"))
        return f->libc;
    return (f->file && str_ends(f->file, row->in)) || (f->module && str_starts(f->module, row->in));
}

bool known_is_of(const struct known_row *row, const struct shown_frame *f)
{
    if (!is_in(row, f))
        return false;
    if (str_eq(row->function, "*"))
        return true;
    if (row->in && str_eq(row->in, "libc"))
        return is_libc_function(f->name, row->function);
    /* "PMPI_Recv" is another name of "MPI_Recv". */
    return frame_name_has(f->name + str_starts(f->name, "PMPI_"), row->function);
}

bool known_find(const struct known_table *t, const struct shown_frame *f, struct known_marks *ret)
{
    bool any = false;
    *ret = (struct known_marks){.row = {NULL}};
    for (size_t i = 0; i < t->n; i++) {
        const struct known_row *row = &t->rows[i];
        if (!known_is_of(row, f))
            continue;
        any = true;
        for (int kind = 0; kind < KNOWN_KINDS; kind++)
            if (row->is >> kind & 1 && !ret->row[kind])
                ret->row[kind] = row;
    }
    return any;
}

const struct known_row *known_row_of(const struct shown_frame *f, enum known_kind kind)
{
    return f->known ? f->known->row[kind] : NULL;
}

const char *known_workers_of(const struct shown_frame *f)
{
    const struct known_row *row = known_row_of(f, KNOWN_WORKERS);
    return row ? row->pool : NULL;
}

const char *known_pool_of(const struct shown_frame *f)
{
    const struct known_row *row = known_row_of(f, KNOWN_POOL);
    return row && row->pool ? row->pool : known_workers_of(f);
}
