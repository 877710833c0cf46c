/* Reads known.def, and what a user adds to it. */
#include "summary/known.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "summary/asks.h"
#include "summary/futex_kind.h"
#include "summary/known_def.h"
#include "summary/spinning.h"
#include "summary/view.h"

static const double usual_least_share = 0.2;

/* ---- what a row may say ---- */

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
static const char *const act_names[DOES_KINDS] = {
    [DOES_BEGIN] = "begin",
    [DOES_END_PYTHON] = "end-python",
    [DOES_START_THREAD] = "start-thread",
    [DOES_JOIN_THREAD] = "join-thread",
    [DOES_FORK] = "fork",
    [DOES_BEGIN_PROCESS] = "begin-process",
    [DOES_RUN_PROGRAM] = "run-program",
    [DOES_BLOCK] = "block",
    [DOES_WAKE_ALL] = "wake-all",
    [DOES_MAKE_ONCE] = "make-once",
    [DOES_ASK_AGAIN] = "ask-again",
    [DOES_SLEEP] = "sleep",
    [DOES_RETRY_LOCK] = "retry-lock",
    [DOES_RETRY_CALL] = "retry-call",
    [DOES_COPY_MESSAGE] = "copy-message",
    [DOES_IMPORT] = "import",
    [DOES_LOAD] = "load",
    [DOES_RUN_TASKS] = "run-tasks",
    [DOES_RUN_COROUTINES] = "run-coroutines",
    [DOES_CALL_BACK] = "call-back",
    [DOES_POOL_PROCESSES] = "pool-processes",
    [DOES_RUN_REGION] = "run-region",
    [DOES_RESOLVE] = "resolve",
    [DOES_CONNECT] = "connect",
    [DOES_LOSE_TASKS] = "lose-tasks",
    [DOES_SERVE] = "serve",
    [DOES_BEGIN_REQUEST] = "begin-request",
    [DOES_RUN_OTHERS] = "run-others",
    [DOES_RUN_CELL] = "run-cell",
    [DOES_COMMIT] = "commit",
    [DOES_DRAIN] = "drain",
    [DOES_SEND_TASKS] = "send-tasks",
    [DOES_BE_INLINED] = "be-inlined",
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
    {"spin", KNOWN_SPIN, WITH_VALUE, spinning_keys, SPIN_KINDS},
    {"yields", KNOWN_YIELDS, WITH_VALUE, spinning_keys, SPIN_KINDS},
    {"within", KNOWN_WITHIN, WITH_VALUE, NULL, 0},
    {"futex", KNOWN_FUTEX, WITH_VALUE, futex_names, sizeof futex_names / sizeof *futex_names},
    {"sleeps", KNOWN_SLEEPS, WITH_VALUE, asked_names, sizeof asked_names / sizeof *asked_names},
    {"asks", KNOWN_ASKS, WITH_VALUE, asked_names, sizeof asked_names / sizeof *asked_names},
    {"own", KNOWN_OWN, ALONE, NULL, 0},
    {"library", KNOWN_LIBRARY, ALONE, NULL, 0},
    {"glue", KNOWN_GLUE, ALONE | WITH_VALUE, NULL, 0},
    {"data", KNOWN_DATA, ALONE, NULL, 0},
    {"waits", KNOWN_WAITS, ALONE, NULL, 0},
    {"says", KNOWN_SAYS, WITH_VALUE, NULL, 0},
    {"called", KNOWN_CALLED, WITH_VALUE, NULL, 0},
    {"slow", KNOWN_SLOW, WITH_VALUE, NULL, 0},
    {"allocator", KNOWN_ALLOCATOR, WITH_VALUE, NULL, 0},
    {"does", KNOWN_DOES, WITH_VALUE, NULL, 0},
    /* Of others: no kinds of their own. */
    {"remedy", KNOWN_KINDS, WITH_VALUE, NULL, 0},
    {"unless", KNOWN_KINDS, WITH_VALUE, NULL, 0},
    {"least", KNOWN_KINDS, WITH_VALUE, NULL, 0},
    {"tested", KNOWN_KINDS, ALONE, NULL, 0},
};

/* ---- reading ---- */

struct reader {
    struct known_table *t;
    char *at; /* within a line, whose tokens are cut out in place */
    unsigned line;
    char *value_end; /* of the text before, which may go on; NULL: none may */
    bool open;       /* a quote has no end */
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
    r->open |= quoted;
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

/* Which of N NAMES the LEN bytes at S are; below 0: none. */
static int find_name(const char *const *names, size_t n, const char *s, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (names[i] && strlen(names[i]) == len && strncmp(names[i], s, len) == 0)
            return (int)i;
    return -1;
}

/* "gpu,nccl": adds a bit for each of the N NAMES. */
static int set_bits(const struct reader *r, const char *const *names, size_t n, const char *value,
                    uint64_t *ret)
{
    for (const char *at = value; *at;) {
        size_t len = strcspn(at, ",");
        int kind = find_name(names, n, at, len);
        if (kind < 0)
            return fail(r, "unknown value", value);
        *ret |= UINT64_C(1) << kind;
        at += len + (at[len] == ',');
    }
    return 0;
}

static int set_share(const struct reader *r, struct known_row *row, const char *value)
{
    char *end;
    row->least_share = strtod(value, &end);
    bool share = end != value && !*end && row->least_share > 0 && row->least_share <= 1;
    return share ? 0 : fail(r, "no share from 0 to 1", value);
}

/* Where VALUE of KEY belongs; NULL: it is no text. */
static const char **text_of(struct known_row *row, const struct key *key)
{
    if (key->kind == KNOWN_POOL || key->kind == KNOWN_JOINED)
        return &row->pool;
    if (key->kind == KNOWN_WORKERS)
        return &row->workers;
    if (key->kind == KNOWN_LOOP)
        return &row->loop;
    if (key->kind == KNOWN_GLUE)
        return &row->glue;
    if (key->kind == KNOWN_SLOW)
        return &row->slow;
    if (key->kind == KNOWN_SAYS)
        return &row->says;
    if (key->kind == KNOWN_CALLED)
        return &row->called;
    if (key->kind == KNOWN_ALLOCATOR)
        return &row->allocator;
    if (str_eq(key->name, "remedy"))
        return &row->remedy;
    return str_eq(key->name, "unless") ? &row->unless : NULL;
}

/* Where the number of one of KEY's names belongs; NULL: it has none. */
static int *number_of(struct known_row *row, const struct key *key)
{
    if (key->kind == KNOWN_SPIN)
        return &row->spin;
    if (key->kind == KNOWN_YIELDS)
        return &row->yields;
    if (key->kind == KNOWN_FUTEX)
        return &row->futex;
    if (key->kind == KNOWN_SLEEPS)
        return &row->sleeps;
    return key->kind == KNOWN_ASKS ? &row->asks : NULL;
}

/* VALUE: empty: none. */
static int set(const struct reader *r, struct known_row *row, const struct key *key,
               const char *value)
{
    const char **text = text_of(row, key);
    int *number = number_of(row, key);
    if (number)
        *number = find_name(key->names, key->n_names, value, strlen(value));
    if (number && *number < 0)
        return fail(r, "unknown value", value);
    if (text && *value)
        *text = value;
    if (key->kind < KNOWN_KINDS)
        row->is |= 1U << key->kind;
    if (key->kind == KNOWN_JOINED)
        row->is |= 1U << KNOWN_POOL;
    row->tested |= str_eq(key->name, "tested");
    if (key->kind == KNOWN_WITHIN)
        return set_bits(r, spinning_keys, SPIN_KINDS, value, &row->within);
    if (key->kind == KNOWN_DOES)
        return set_bits(r, act_names, DOES_KINDS, value, &row->does);
    return str_eq(key->name, "least") ? set_share(r, row, value) : 0;
}

/* KEY, KEY=VALUE, or what a text goes on with. */
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
    if (!key)
        return fail(r, "unknown word", token);
    r->value_end = value && text_of(row, key) ? end : NULL;
    if (value && !(key->forms & WITH_VALUE))
        return fail(r, "takes no value", token);
    if (value ? !*value : !(key->forms & ALONE))
        return fail(r, "needs a value", token);
    return set(r, row, key, value ? value : "");
}

/* Cuts the pattern's marks off NAME.  A '*' at the end of a plain name is frame_name_has()'s. */
static enum known_match match_of(char **name)
{
    size_t len = strlen(*name);
    if (str_eq(*name, "*"))
        return MATCH_ANY;
    if (**name == '^') {
        ++*name;
        if (len < 3 || (*name)[len - 2] != '$')
            return MATCH_BEGINS;
        (*name)[len - 2] = '\0';
        return MATCH_WHOLE;
    }
    if (**name == '*' && len > 2 && (*name)[len - 1] == '*') {
        (*name)[len - 1] = '\0';
        ++*name;
        return MATCH_HAS;
    }
    return MATCH_NAME;
}

/* A '*' elsewhere would match nothing. */
static bool has_odd_star(const char *name, enum known_match match)
{
    const char *star = match == MATCH_ANY ? NULL : strchr(name, '*');
    return star && (match != MATCH_NAME || star == name || star[1]);
}

static enum known_place place_of(const char *in)
{
    if (str_eq(in, "-"))
        return IN_NATIVE;
    if (str_eq(in, "libc"))
        return IN_LIBC;
    if (str_eq(in, "jit"))
        return IN_JIT;
    if (*in == '<')
        return IN_NAMED;
    if (str_ends(in, "/"))
        return IN_FOLDER;
    return str_ends(in, ".py") ? IN_PYTHON : IN_MODULE;
}

static int add_row(struct reader *r, char *function, char *in)
{
    struct known_table *t = r->t;
    enum known_match match = match_of(&function);
    if (!in)
        return fail(r, "no file or module, nor - for any native code", function);
    if (!*function || !*in)
        return fail(r, "an empty name", "");
    if (has_odd_star(function, match))
        return fail(r, "a * that is neither at the end nor around a part", function);
    t->rows = array_reserve(t->rows, &t->capacity, t->n + 1, sizeof *t->rows);
    t->rows[t->n++] = (struct known_row){.function = function,
                                         .match = match,
                                         .place = place_of(in),
                                         .in = in,
                                         .least_share = usual_least_share,
                                         .line = r->line};
    r->value_end = NULL;
    return 0;
}

/* FUNCTION FILE-OR-MODULE WORDS…, or more words of the row before if it is indented. */
static int read_line(struct reader *r, char *line)
{
    bool quoted;
    char *end;
    char *token;
    int rc = 0;
    bool goes_on = isspace((unsigned char)*line);
    r->at = line;
    if (!goes_on && (token = next_token(r, &quoted, &end)))
        rc = add_row(r, token, next_token(r, &quoted, &end));
    while (rc == 0 && !r->open && (token = next_token(r, &quoted, &end))) {
        if (!r->t->rows)
            rc = fail(r, "no row to go on with", token);
        else if (!r->open)
            rc = read_word(r, &r->t->rows[r->t->n - 1], token, quoted, end);
    }
    return r->open ? fail(r, "a quote has no end", "") : rc;
}

/* Adds the rows of TEXT. */
static int read_rows(struct known_table *t, const char *text, struct err *err)
{
    static const char order_mark[] = "\xEF\xBB\xBF"; /* of editors elsewhere */
    struct reader r = {.t = t, .err = err};
    char *copy = xstrdup(text + (str_starts(text, order_mark) ? strlen(order_mark) : 0));
    int rc = 0;
    t->texts = array_reserve(t->texts, &t->texts_capacity, t->n_texts + 1, sizeof *t->texts);
    t->texts[t->n_texts++] = copy;
    for (char *line = copy, *next; line && rc == 0; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r.line++;
        rc = read_line(&r, line);
    }
    return rc;
}

/* What only a whole row can have wrong; NULL: nothing. */
static const char *wrong_with(const struct known_row *row)
{
    if (!row->is)
        return "the row says nothing";
    if ((row->slow && !row->remedy) || (row->remedy && !row->slow && !row->allocator))
        return "slow= and remedy= belong together";
    bool of_slow = row->unless || row->least_share != usual_least_share;
    return of_slow && !row->slow ? "least= and unless= are for slow=" : NULL;
}

static int check_rows(const struct known_table *t, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct known_row *row = &t->rows[i];
        const char *wrong = wrong_with(row);
        n += row->slow != NULL;
        if (wrong)
            return err_set(err, -EINVAL, "line %u: %s", row->line, wrong);
    }
    return n <= KNOWN_MOST_SLOW_ADDED
               ? 0
               : err_set(err, -EINVAL, "more than %d rows of slow code", KNOWN_MOST_SLOW_ADDED);
}

int known_init(struct known_table *t, const char *text, struct err *err)
{
    *t = (struct known_table){.n = 0};
    int rc = text ? read_rows(t, text, err) : 0;
    if (rc == 0)
        rc = check_rows(t, err);
    if (rc < 0)
        t->n = 0;
    struct err own = {0};
    const size_t n_users = t->n;
    (void)read_rows(t, known_def, &own); /* the test known reads it, too */
    for (size_t i = n_users; i < t->n; i++)
        t->rows[i].built_in = true;
    known_make_keys(t);
    return rc;
}

void known_add(struct known_table *t, const char *text)
{
    struct err err = {0};
    const size_t n = t->n;
    if (read_rows(t, text, &err) < 0)
        t->n = n;
    for (size_t i = n; i < t->n; i++)
        t->rows[i].built_in = true;
    free(t->keys);
    known_make_keys(t);
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
    free(t->keys);
    *t = (struct known_table){.n = 0};
}
