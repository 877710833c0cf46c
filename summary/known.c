#include "summary/known.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/view.h"

/* glibc's names of one function: "__GI___libc_fork", "__isoc99_sscanf". */
static const char *without_prefix(const char *name)
{
    static const char *const prefixes[] = {"libc_", "isoc99_", "isoc23_", "new_", "old_"};
    name = frame_libc_name(name);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (str_starts(name, prefixes[i]))
            return name + strlen(prefixes[i]);
    return name;
}

/* "*" stands for any end. */
static bool is_libc_function(const char *name, const char *function)
{
    const char *plain = without_prefix(name);
    size_t len = strlen(function);
    return function[len - 1] == '*' ? strncmp(plain, function, len - 1) == 0
                                    : str_eq(plain, function);
}

static bool is_in_folder(const char *path, const char *folder)
{
    for (const char *at = path; path && (at = strstr(at, folder)); at++)
        if (at == path || at[-1] == '/' || *folder == '/')
            return true;
    return false;
}

static bool is_in(const struct known_row *row, const struct shown_frame *f)
{
    const bool python = f->kind == SHOWN_PYTHON && f->file;
    const bool native = f->kind == SHOWN_NATIVE;
    switch (row->place) {
    case IN_NATIVE:
        return native;
    case IN_LIBC: /* POSIX's threads may be linked into the program */
        return native && (f->libc || str_starts(f->name, "pthread_"));
    case IN_JIT:
        return native && !f->module;
    case IN_MODULE:
        return native && ((f->file && str_ends(f->file, row->in)) ||
                          (f->module && str_starts(f->module, row->in)));
    case IN_PYTHON:
        return python && path_ends(f->file, row->in);
    case IN_NAMED:
        return python && str_starts(f->file, row->in);
    case IN_FOLDER:
        return is_in_folder(f->source, row->in) || is_in_folder(f->module_path, row->in);
    }
    return false;
}

/* The standard library of LLVM, and parts of GCC's, lie in namespaces that nobody writes. */
static bool begins(const char *name, const char *function)
{
    static const char *const unwritten[] = {
        "std::__1::", "std::__ndk1::", "std::__cxx11::", "std::_V2::"};
    static const char std[] = "std::";
    if (str_starts(name, function))
        return true;
    for (size_t i = 0; i < sizeof unwritten / sizeof *unwritten; i++)
        if (str_starts(name, unwritten[i]) && str_starts(function, std))
            return str_starts(name + strlen(unwritten[i]), function + strlen(std));
    return false;
}

static bool is_named(const struct known_row *row, const struct shown_frame *f)
{
    if (f->nameless) /* it has its module's name */
        return row->match == MATCH_ANY;
    switch (row->match) {
    case MATCH_ANY:
        return true;
    case MATCH_BEGINS:
        return begins(f->name, row->function);
    case MATCH_WHOLE:
        return str_eq(f->name, row->function);
    case MATCH_HAS:
        return strstr(f->name, row->function) != NULL;
    case MATCH_NAME:
        break;
    }
    if (row->place == IN_LIBC)
        return is_libc_function(f->name, row->function);
    /* "PMPI_Recv" is another name of "MPI_Recv". */
    return frame_name_has(f->name + str_starts(f->name, "PMPI_"), row->function);
}

bool known_is_of(const struct known_row *row, const struct shown_frame *f)
{
    return is_in(row, f) && is_named(row, f);
}

/* ---- which rows may fit ---- */

/* Nearly all rows are of other code, or begin with another character.  A frame is looked up among a
 * thousand, so that is told without a look at the row. */
enum { OF_NATIVE = 1, OF_PYTHON = 2, OF_LIBC = 4 };
/* With what a row's function begins: with any character, as the whole name, as the C library's
 * without its prefixes, or as a component of the name. */
enum known_first { FIRST_ANY, FIRST_OF_NAME, FIRST_OF_LIBC, FIRST_OF_COMPONENT, FIRST_KINDS };
struct known_key {
    unsigned char code, first, character;
};

static unsigned char code_of(const struct known_row *row)
{
    switch (row->place) {
    case IN_NATIVE:
    case IN_JIT:
    case IN_MODULE:
        return OF_NATIVE;
    case IN_LIBC:
        return OF_LIBC;
    case IN_PYTHON:
    case IN_NAMED:
        return OF_PYTHON;
    case IN_FOLDER:
        break;
    }
    return OF_NATIVE | OF_PYTHON;
}

static enum known_first first_of(const struct known_row *row)
{
    if (row->match == MATCH_ANY || row->match == MATCH_HAS)
        return FIRST_ANY;
    if (row->match != MATCH_NAME)
        return FIRST_OF_NAME;
    return row->place == IN_LIBC ? FIRST_OF_LIBC : FIRST_OF_COMPONENT;
}

void known_make_keys(struct known_table *t)
{
    t->keys = xcalloc(t->n, sizeof *t->keys);
    for (size_t i = 0; i < t->n; i++)
        t->keys[i] = (struct known_key){code_of(&t->rows[i]), (unsigned char)first_of(&t->rows[i]),
                                        (unsigned char)*t->rows[i].function};
}

/* What a frame has of it: the characters with which a row's function may begin. */
struct frame_key {
    unsigned code;
    bool has[FIRST_KINDS][UCHAR_MAX + 1];
};

static struct frame_key frame_key_of(const struct shown_frame *f)
{
    struct frame_key ret = {.code = 0};
    const bool native = f->kind == SHOWN_NATIVE;
    const bool libc = native && (f->libc || str_starts(f->name, "pthread_"));
    ret.code =
        (native ? OF_NATIVE : 0) | (libc ? OF_LIBC : 0) | (f->kind == SHOWN_PYTHON ? OF_PYTHON : 0);
    ret.has[FIRST_OF_NAME][(unsigned char)*f->name] = true;
    if (libc)
        ret.has[FIRST_OF_LIBC][(unsigned char)*without_prefix(f->name)] = true;
    for (const char *at = f->name; *at; at++) /* where frame_name_has() looks */
        if (at == f->name || strchr(":.<", at[-1]) || (at == f->name + 1 && *f->name == 'P'))
            ret.has[FIRST_OF_COMPONENT][(unsigned char)*at] = true;
    return ret;
}

static bool may_be_of(const struct known_key *row, const struct frame_key *f)
{
    return f->code & row->code && (row->first == FIRST_ANY || f->has[row->first][row->character]);
}

bool known_find(const struct known_table *t, const struct shown_frame *f, struct known_marks *ret)
{
    const struct frame_key key = frame_key_of(f);
    bool any = false;
    *ret = (struct known_marks){.row = {NULL}};
    for (size_t i = 0; i < t->n; i++) {
        const struct known_row *row = &t->rows[i];
        if (!may_be_of(&t->keys[i], &key) || !known_is_of(row, f))
            continue;
        any = true;
        ret->within |= row->within;
        ret->does |= row->does;
        ret->module_within |= row->match == MATCH_ANY ? row->within : 0;
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

bool known_does(const struct shown_frame *f, enum known_act act)
{
    return f->known && f->known->does >> act & 1;
}

/* The rows of the table lie in its order. */
enum known_kind known_owner_of(const struct shown_frame *f)
{
    static const enum known_kind owners[] = {KNOWN_OWN, KNOWN_LIBRARY, KNOWN_GLUE, KNOWN_WAITS};
    const struct known_row *first = NULL;
    enum known_kind owner = KNOWN_KINDS;
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        const struct known_row *row = known_row_of(f, owners[i]);
        if (row && (!first || row < first)) {
            first = row;
            owner = owners[i];
        }
    }
    return owner;
}

const char *known_workers_of(const struct shown_frame *f)
{
    const struct known_row *row = known_row_of(f, KNOWN_WORKERS);
    return row ? row->workers : NULL;
}

const char *known_pool_of(const struct shown_frame *f)
{
    const struct known_row *row = known_row_of(f, KNOWN_POOL);
    return row && row->pool ? row->pool : known_workers_of(f);
}

const char *known_glue_of(const struct shown_frame *f)
{
    const struct known_row *row = known_row_of(f, KNOWN_GLUE);
    return row ? row->glue : NULL;
}
