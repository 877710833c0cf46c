#include "summary/view.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/strings.h"
#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/futex_kind.h"
#include "summary/known.h"
#include "summary/own_packages.h"
#include "summary/python_module.h"
#include "summary/wait_text.h"

/* The items of `shown` that one frame of the profile expands to, outermost first. */
struct expansion {
    size_t first, n;
};

struct frame_key {
    string_id name, file;
    uint32_t line;
};

struct view {
    const struct profile *p;
    struct view_options options;
    struct known_table known;
    struct known_marks **marks; /* of the frames that something is known of */
    size_t n_marks, marks_capacity;
    struct strings strings;                         /* names and files as shown */
    struct strings addresses;                       /* in names of waits */
    struct expansion *expansions, *wait_expansions; /* by frame, by wait */
    struct shown_frame *shown;
    size_t n_shown, shown_capacity;
    struct frame_key *keys; /* by id − 1 */
    size_t *first_shown;    /* by id − 1: the first of `shown` that has it */
    size_t n_ids, keys_capacity, first_shown_capacity;
    struct index index;
    struct shown_frame *stack; /* the last result of view_stack() */
    size_t stack_capacity;
    struct shown_frame not_shown; /* stands for a stack of which nothing is left */
    /* Leaves of such waits, awake and asleep; without a name where no frame waits so. */
    struct shown_frame spins[SPIN_KINDS], asleep[SPIN_KINDS];
};

static bool same_key(const void *item, const void *wanted)
{
    const struct frame_key *a = item;
    const struct frame_key *b = wanted;
    return a->name.ix == b->name.ix && a->file.ix == b->file.ix && a->line == b->line;
}

static uint32_t id_of(struct view *v, string_id name, string_id file, uint32_t line)
{
    const struct frame_key wanted = {name, file, line};
    uint64_t hash = hash_u64(hash_u64((uint64_t)name.ix << 32 | file.ix) ^ line);
    uint32_t item = index_find(&v->index, hash, v->keys, sizeof *v->keys, same_key, &wanted);
    if (item != INDEX_NONE)
        return item + 1;
    v->keys = array_reserve(v->keys, &v->keys_capacity, v->n_ids + 1, sizeof *v->keys);
    v->first_shown = array_reserve(v->first_shown, &v->first_shown_capacity, v->n_ids + 1,
                                   sizeof *v->first_shown);
    index_add(&v->index, hash, (uint32_t)v->n_ids);
    v->keys[v->n_ids] = wanted;
    v->first_shown[v->n_ids] = v->n_shown;
    return (uint32_t)++v->n_ids;
}

/* What is known of F; NULL: nothing. */
static const struct known_marks *marks_of(struct view *v, const struct shown_frame *f)
{
    struct known_marks found;
    if (!known_find(&v->known, f, &found))
        return NULL;
    struct known_marks *marks = xcalloc(1, sizeof *marks);
    *marks = found;
    v->marks =
        array_reserve(v->marks, &v->marks_capacity, v->n_marks + 1, sizeof(struct known_marks *));
    v->marks[v->n_marks++] = marks;
    return marks;
}

static const char *loop_of(const struct shown_frame *f)
{
    const struct known_row *row = known_row_of(f, KNOWN_LOOP);
    return row ? row->loop : NULL;
}

/* Appends FRAME, whose texts become the view's own. */
static void show(struct view *v, const struct shown_frame *frame)
{
    struct shown_frame f = *frame;
    struct text file = {0};
    string_id name_id = strings_add(&v->strings, f.name, strlen(f.name));
    string_id file_id = {0};
    if (f.guessed)
        text_addf(&file, "[guessed]%s", f.file ? " " : "");
    if (f.file)
        text_add(&file, f.file);
    if (file.len)
        file_id = strings_add(&v->strings, file.s, file.len);
    text_release(&file);
    f.libc = f.kind == SHOWN_NATIVE && f.module && module_is_libc(f.module);
    f.known = marks_of(v, &f);
    f.entry = known_does(&f, DOES_BEGIN);
    f.spin = spinning_marks(&f);
    f.loop = loop_of(&f);
    f.pool_loop = known_row_of(&f, KNOWN_POOL) != NULL;
    f.glue = is_glue_frame(&f);
    if (f.source) {
        string_id source_id = strings_add(&v->strings, f.source, strlen(f.source));
        f.source = strings_text(&v->strings, source_id);
    }
    f.name = strings_text(&v->strings, name_id);
    f.file = file_id.ix ? strings_text(&v->strings, file_id) : NULL;
    f.id = id_of(v, name_id, file_id, f.line);
    v->shown = array_reserve(v->shown, &v->shown_capacity, v->n_shown + 1, sizeof *v->shown);
    v->shown[v->n_shown++] = f;
}

static void show_mark(struct view *v, const struct frame *f)
{
    struct shown_frame shown = {
        .kind = SHOWN_MARK,
        .guessed = f->flags & FRAME_IS_GUESSED,
        .name = profile_text(v->p, f->mark.name),
        .file = profile_text_or_null(v->p, f->mark.file),
    };
    show(v, &shown);
}

/* May WAIT's other end be in its name?  Each name is a frame of its own in files: more of them are
 * no help to a reader. */
static bool is_addressed(struct view *v, const struct wait *wait)
{
    enum { MOST_ADDRESSES = 64 };
    struct text address = {0};
    if (!wait_has_address(wait))
        return false;
    wait_add_address(&address, v->p, wait);
    bool kept =
        strings_find(&v->addresses, address.s, address.len).ix || v->addresses.n < MOST_ADDRESSES;
    if (kept)
        (void)strings_add(&v->addresses, address.s, address.len);
    text_release(&address);
    return kept;
}

/* "/data/log", "socket", "pipe"; of a FIFO that is opened "pipe /tmp/feed": which one is all that
 * there is to say, while those that read others of them are alike. */
static const char *shown_object(struct view *v, const struct wait *wait)
{
    if (!wait_is_for_fifo(v->p, wait))
        return profile_text_or_null(v->p, wait->object);
    if (!str_starts(profile_text(v->p, wait->call), "open"))
        return "pipe";
    struct text name = {0};
    text_addf(&name, "pipe %s", profile_text(v->p, wait->object));
    const char *ret = strings_text(&v->strings, strings_add(&v->strings, name.s, name.len));
    text_release(&name);
    return ret;
}

static void show_wait(struct view *v, const struct wait *wait)
{
    struct text name = {0};
    struct shown_frame shown = {
        .kind = SHOWN_WAIT,
        .file = wait_file,
        .wait = wait->kind,
        .call = profile_text_or_null(v->p, wait->call),
        .object = shown_object(v, wait),
        .mount = profile_text_or_null(v->p, wait_mount_point(v->p, wait)),
        .socket = wait->kind == WAIT_CALL && str_eq(profile_text(v->p, wait->object), "socket"),
    };
    wait_add_text(&name, v->p, wait, is_addressed(v, wait));
    shown.name = name.s;
    show(v, &shown);
    text_release(&name);
    shown.name = wait_path_below_mount(v->p, wait);
    if (shown.name)
        show(v, &shown);
}

static void show_python(struct view *v, const struct frame *f)
{
    const struct func *func = profile_get_func(v->p, f->python.func);
    struct shown_frame shown = {
        .kind = SHOWN_PYTHON,
        .guessed = f->flags & FRAME_IS_GUESSED,
        .name = profile_text(v->p, func->name),
        .file = profile_text_or_null(v->p, func->file),
        .source = profile_text_or_null(v->p, func->file),
        .line = v->options.lines ? f->python.line : func->first_line,
        .current_line = f->python.line,
    };
    if (!v->options.no_python)
        show(v, &shown);
}

/* The parts that all shown frames of one native frame share. */
static struct shown_frame native_base(const struct view *v, const struct frame *f)
{
    struct shown_frame base = {
        .kind = SHOWN_NATIVE,
        .guessed = f->flags & FRAME_IS_GUESSED,
        .address = f->native.offset,
        .interpreter = f->flags & FRAME_IS_INTERPRETER,
    };
    if (f->native.module.ix) {
        const struct profile_module *m = profile_get_module(v->p, f->native.module);
        base.module = path_base(profile_text(v->p, m->name.ix ? m->name : m->path));
        base.module_path = profile_text_or_null(v->p, m->path);
        base.address += m->bias;
    }
    return base;
}

/* "[module]"; "[vdso]" has its brackets already. */
static void add_module(struct text *out, const char *module)
{
    module = module ? module : "anonymous";
    text_addf(out, *module == '[' ? "%s" : "[%s]", module);
}

static void show_nameless(struct view *v, const struct frame *f, struct shown_frame base)
{
    struct text name = {0};
    struct text file = {0};
    if (base.module)
        text_add(&name, base.module);
    /* By its start a nameless function is one frame, wherever in it the samples are. */
    bool whole = f->native.function && !v->options.lines;
    text_addf(&name, "%s0x%" PRIx64, base.module ? "+" : "",
              whole ? f->native.function : f->native.offset);
    add_module(&file, base.module);
    base.name = name.s;
    base.nameless = true;
    base.file = file.s;
    show(v, &base);
    text_release(&name);
    text_release(&file);
}

static void show_location(struct view *v, const struct location *loc, struct shown_frame base)
{
    struct text file = {0};
    add_module(&file, base.module ? base.module : "jit"); /* else who could know? */
    if (loc->file.ix)
        text_addf(&file, " %s", profile_text(v->p, loc->file));
    base.inlined = loc->inlined;
    base.name = profile_text(v->p, loc->function);
    base.file = file.s;
    base.source = profile_text_or_null(v->p, loc->file);
    base.line = v->options.lines ? loc->line : loc->function_line;
    base.current_line = loc->line;
    show(v, &base);
    text_release(&file);
}

/* Is LOC, of F, a function of the interpreter's, if F is of a program that it is linked into? */
static bool is_embedded(const struct view *v, const struct frame *f, const struct location *loc)
{
    return f->flags & FRAME_IS_EMBEDDING && loc->function.ix &&
           python_has_function(profile_text(v->p, loc->function));
}

static void show_native(struct view *v, const struct frame *f, frame_id id)
{
    if (v->options.no_native)
        return;
    struct shown_frame base = native_base(v, f);
    size_t n = 0;
    const struct location *loc = profile_locations(v->p, id, &n);
    if (!n)
        show_nameless(v, f, base);
    while (n--) {
        if (loc[n].internal && !v->options.internals && !base.guessed)
            continue;
        base.interpreter = f->flags & FRAME_IS_INTERPRETER || is_embedded(v, f, &loc[n]);
        if (loc[n].function.ix)
            show_location(v, &loc[n], base);
        else
            show_nameless(v, f, base);
    }
}

static void expand(struct view *v, frame_id id)
{
    const struct frame *f = profile_get_frame(v->p, id);
    size_t first = v->n_shown;
    switch (f->kind) {
    case FRAME_NATIVE:
        show_native(v, f, id);
        break;
    case FRAME_PYTHON:
        show_python(v, f);
        break;
    case FRAME_MARK:
        show_mark(v, f);
        break;
    }
    v->expansions[id.ix - 1] = (struct expansion){first, v->n_shown - first};
}

static void expand_wait(struct view *v, wait_id id)
{
    size_t first = v->n_shown;
    show_wait(v, profile_see_wait(v->p, id));
    v->wait_expansions[id.ix - 1] = (struct expansion){first, v->n_shown - first};
}

static void show_asleep(struct view *v, enum spin_kind kind)
{
    struct shown_frame leaf = {.kind = SHOWN_WAIT,
                               .wait = WAIT_CALL,
                               .asleep = kind,
                               .call = "",
                               .name = spinning_asleep_name(kind),
                               .file = wait_file};
    if (!leaf.name)
        return;
    show(v, &leaf);
    v->asleep[kind] = v->shown[v->n_shown - 1];
}

/* The leaves that stacks of the shown frames may end in. */
static void show_spins(struct view *v)
{
    bool known[SPIN_KINDS] = {false};
    for (size_t i = 0; i < v->n_shown; i++)
        known[v->shown[i].spin.waits] = known[v->shown[i].spin.module] =
            known[v->shown[i].spin.yields] = true;
    for (int kind = SPIN_NONE + 1; kind < SPIN_KINDS; kind++) {
        struct shown_frame leaf = {.kind = SHOWN_WAIT,
                                   .spins = (enum spin_kind)kind,
                                   .name = spinning_name((enum spin_kind)kind),
                                   .file = spinning_file};
        if (!known[kind])
            continue;
        show(v, &leaf);
        v->spins[kind] = v->shown[v->n_shown - 1];
        show_asleep(v, (enum spin_kind)kind);
    }
}

struct view *view_new(const struct profile *p, const struct view_options *options)
{
    struct view *v = xcalloc(1, sizeof *v);
    v->p = p;
    v->options = *options;
    (void)known_init(&v->known, options->known, NULL);
    own_packages_add(&v->known, p);
    v->expansions = xcalloc(profile_frame_count(p), sizeof *v->expansions);
    for (uint32_t i = 1; i <= profile_frame_count(p); i++)
        expand(v, (frame_id){i});
    v->wait_expansions = xcalloc(profile_wait_count(p), sizeof *v->wait_expansions);
    for (uint32_t i = 1; i <= profile_wait_count(p); i++)
        expand_wait(v, (wait_id){i});
    show_spins(v);
    if (options->no_native || options->no_python) {
        show(v, &(struct shown_frame){.kind = SHOWN_MARK, .name = "[not shown]"});
        v->not_shown = v->shown[v->n_shown - 1];
    }
    return v;
}

/* A nameless frame of the interpreter between named ones is an internal function, whose name a
 * stripped interpreter does not have.  As the innermost one it is where the time goes, and
 * stays. */
static bool is_nameless_internal(const struct view *v, frame_id id)
{
    const struct frame *f = profile_get_frame(v->p, id);
    size_t n = 0;
    const struct location *loc = profile_locations(v->p, id, &n);
    return f->kind == FRAME_NATIVE && f->flags & FRAME_IS_INTERPRETER &&
           !(f->flags & FRAME_IS_GUESSED) && !v->options.internals &&
           (!n || (n == 1 && !loc->function.ix));
}

/* May a frame of a program that the interpreter is linked into be one that only passes a call on?
 * It is one by its name, or has no name. */
static bool may_pass_on(const struct view *v, frame_id id)
{
    const struct frame *f = profile_get_frame(v->p, id);
    size_t n = 0;
    const struct location *loc = profile_locations(v->p, id, &n);
    if (f->kind != FRAME_NATIVE || !(f->flags & FRAME_IS_EMBEDDING) ||
        f->flags & FRAME_IS_GUESSED || v->options.internals)
        return false;
    while (n && (!loc[n - 1].function.ix || loc[n - 1].internal))
        n--;
    return n == 0;
}

static bool is_python(const struct view *v, stack_id s)
{
    return profile_get_frame(v->p, profile_stack_frame(v->p, s))->kind == FRAME_PYTHON;
}

/* Is the frame at S passed over, because it and its neighbours pass a call on from one Python frame
 * to another?  Asked of all frames from the innermost outward; *BETWEEN is for that, false at
 * first.  Elsewhere such a frame is the program's own. */
static bool is_between(const struct view *v, stack_id s, bool *between)
{
    if (may_pass_on(v, profile_stack_frame(v->p, s)))
        return *between;
    bool python = is_python(v, s);
    do
        s = profile_stack_parent(v->p, s);
    while (python && s.ix && may_pass_on(v, profile_stack_frame(v->p, s)));
    *between = python && s.ix && is_python(v, s);
    return false;
}

/* Would E say again what the frame inside of it says? */
static bool is_same_mark(const struct view *v, const struct shown_frame *inner, struct expansion e)
{
    const struct shown_frame *f = &v->shown[e.first];
    return e.n == 1 && f->kind == SHOWN_MARK && inner->kind == SHOWN_MARK && f->id == inner->id;
}

static void turn_around(struct shown_frame *stack, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct shown_frame outer = stack[n - 1 - i];
        stack[n - 1 - i] = stack[i];
        stack[i] = outer;
    }
}

/* Appends the frames of E, innermost first; ALIASES: with the C library's. */
static size_t add_frames(struct view *v, size_t n, struct expansion e, bool aliases)
{
    v->stack = array_reserve(v->stack, &v->stack_capacity, n + e.n, sizeof *v->stack);
    for (size_t i = e.n; i-- > 0;) {
        const struct shown_frame *f = &v->shown[e.first + i];
        n -= !aliases && n && frame_is_alias(f, &v->stack[n - 1]);
        v->stack[n++] = *f;
    }
    return n;
}

/* The last of N frames stand for a wait in a call: another one does if it is the wait in which
 * threads also spin.  Returns how many there are then. */
static size_t see_asleep(struct view *v, size_t n)
{
    size_t calls = n;
    while (calls && v->stack[calls - 1].kind == SHOWN_WAIT)
        calls--;
    if (calls == n || v->stack[calls].wait != WAIT_CALL)
        return n;
    /* Whoever has a lock is told. */
    const unsigned locks = 1U << FUTEX_LOCK | 1U << FUTEX_RWLOCK;
    enum spin_kind kind = spinning_asleep(v->stack, calls);
    if (!kind || locks >> futex_kind(v->stack, n) & 1)
        return n;
    v->stack[calls] = v->asleep[kind];
    return calls + 1;
}

const struct shown_frame *view_stack(struct view *v, struct spot at, size_t *ret_n)
{
    size_t n = 0;
    bool whole = v->options.internals || v->options.whole;
    bool innermost = !at.wait.ix;
    bool hidden = false; /* the frames inside of the next one are */
    bool between = false;
    if (at.wait.ix)
        n = add_frames(v, n, v->wait_expansions[at.wait.ix - 1], whole);
    for (stack_id s = at.stack; s.ix; s = profile_stack_parent(v->p, s), innermost = false) {
        frame_id id = profile_stack_frame(v->p, s);
        struct expansion e = v->expansions[id.ix - 1];
        if (is_between(v, s, &between) || e.n == 0 || (!innermost && is_nameless_internal(v, id))) {
            hidden = true;
            continue;
        }
        if (hidden && n && is_same_mark(v, &v->stack[n - 1], e))
            continue;
        hidden = false;
        n = add_frames(v, n, e, whole);
    }
    while (!whole && n > 1 && v->stack[n - 1].entry)
        n--;
    turn_around(v->stack, n);
    n = see_asleep(v, n);
    enum spin_kind spins = spinning_of(v->stack, n);
    if (spins) {
        v->stack = array_reserve(v->stack, &v->stack_capacity, n + 1, sizeof *v->stack);
        v->stack[n++] = v->spins[spins];
    }
    if (!n && at.stack.ix && v->not_shown.id) {
        v->stack = array_reserve(v->stack, &v->stack_capacity, 1, sizeof *v->stack);
        v->stack[n++] = v->not_shown;
    }
    *ret_n = n;
    return v->stack;
}

const struct known_table *view_known(const struct view *v)
{
    return &v->known;
}

const struct known_marks *view_marks(const struct view *v, size_t i)
{
    return i < v->n_marks ? v->marks[i] : NULL;
}

const struct shown_frame *view_frame(const struct view *v, uint32_t id)
{
    assert(id && id <= v->n_ids);
    return &v->shown[v->first_shown[id - 1]];
}

uint32_t view_frame_count(const struct view *v)
{
    return (uint32_t)v->n_ids;
}

const struct view_options *view_options(const struct view *v)
{
    return &v->options;
}

struct view *view_free(struct view *v)
{
    if (!v)
        return NULL;
    free(v->expansions);
    free(v->wait_expansions);
    free(v->shown);
    free(v->keys);
    free(v->first_shown);
    free(v->stack);
    for (size_t i = 0; i < v->n_marks; i++)
        free(v->marks[i]);
    free(v->marks);
    known_release(&v->known);
    index_release(&v->index);
    strings_release(&v->strings);
    strings_release(&v->addresses);
    free(v);
    return NULL;
}
