#include "fleet/headline.h"

#include <string.h>

/* ---- where ---- */

struct way { /* the frames that are shown, outermost first */
    uint32_t nodes[FLEET_FRAMES];
    size_t n;
};
struct place {
    uint32_t part;  /* where the ways of two classes part; 0: they are not compared */
    uint32_t inner; /* the innermost frame of their own; else of a library's */
    uint32_t own;   /* the last frame of their own up to PART; 0: none */
};

static const struct function *function_of(const struct fleet *f, uint32_t node)
{
    return &f->functions.items[f->nodes[node].function];
}

static bool is_own(const struct fleet *f, uint32_t node)
{
    return function_of(f, node)->role == FUNCTION_IS_OWN;
}

static void find_way(const struct fleet *f, const struct verdict_class *c, struct way *ret)
{
    ret->n = 0;
    for (uint32_t at = f->threads[c->thread].path; at && ret->n < FLEET_FRAMES;
         at = f->nodes[at].parent)
        if (fleet_words_shows(f, at))
            ret->nodes[ret->n++] = at;
    for (size_t i = 0; i < ret->n / 2; i++) {
        uint32_t node = ret->nodes[i];
        ret->nodes[i] = ret->nodes[ret->n - 1 - i];
        ret->nodes[ret->n - 1 - i] = node;
    }
}

/* At which frame of WAY, of C, the other way parts from it; SIZE_MAX: nowhere. */
static size_t find_parting(const struct fleet *f, const struct verdict_class *c,
                           const struct way *way, const struct verdict_class *other,
                           const struct way *others)
{
    size_t line = SIZE_MAX;
    size_t n = way->n < others->n ? way->n : others->n;
    for (size_t i = 0; i < n; i++) {
        uint32_t a = way->nodes[i];
        uint32_t b = others->nodes[i];
        if (f->nodes[a].function != f->nodes[b].function)
            return i;
        if (line == SIZE_MAX && fleet_words_line(f, c, a) != fleet_words_line(f, other, b))
            line = i;
    }
    if (way->n != others->n)
        return way->n > n ? n : way->n - 1;
    return line;
}

/* OTHER: the class that it is compared with; NULL: none. */
static struct place find_place(const struct fleet *f, const struct verdict_class *c,
                               const struct verdict_class *other)
{
    struct way way;
    struct way others;
    struct place ret = {0};
    find_way(f, c, &way);
    if (!way.n) {
        ret.inner = f->threads[c->thread].path;
        return ret;
    }
    size_t part = way.n;
    if (other) {
        find_way(f, other, &others);
        part = find_parting(f, c, &way, other, &others);
        ret.part = part == SIZE_MAX ? 0 : way.nodes[part];
    }
    ret.inner = way.nodes[way.n - 1];
    for (size_t i = 0; i < way.n; i++) {
        if (is_own(f, way.nodes[i]))
            ret.inner = way.nodes[i];
        if (is_own(f, way.nodes[i]) && i <= part)
            ret.own = way.nodes[i];
    }
    return ret;
}

struct brevity { /* what the first line has room for */
    bool world, object, inner, lined;
    bool wait; /* also of one that awaits others; what stops a job is always said */
    bool own;  /* no functions of libraries, where their own tell the classes apart */
    size_t columns;
};

/* Do their own functions, or the lines in these, tell C from OTHER? */
static bool own_frames_differ(const struct fleet *f, const struct verdict_class *c,
                              const struct verdict_class *other)
{
    uint32_t a = find_place(f, c, other).own;
    uint32_t b = find_place(f, other, c).own;
    return a && b &&
           (f->nodes[a].function != f->nodes[b].function ||
            fleet_words_line(f, c, a) != fleet_words_line(f, other, b));
}

/* "evaluate train.py:30 > receive": where the ways part, and, INNER, the innermost function. */
static void add_place(const struct fleet *f, const struct verdict_class *c,
                      const struct verdict_class *other, const struct brevity *b, bool lined,
                      struct text *out)
{
    struct place p = find_place(f, c, other);
    uint32_t first = p.part && p.own ? p.own : p.part ? p.part : p.inner;
    if (!first) {
        text_add(out, "no stack");
        return;
    }
    fleet_words_add_frame(f, c, first, b->columns, lined, out);
    bool library = p.part && p.part != first && !is_own(f, p.part) &&
                   !(b->own && own_frames_differ(f, c, other));
    if (library || (b->inner && p.inner != first)) {
        text_add(out, " > ");
        fleet_words_add_name(f, library ? p.part : p.inner, b->columns, out);
    }
}

/* ---- the first line ---- */

static void add_who(const struct fleet *f, const struct verdict *v, const struct verdict_class *c,
                    bool world, struct text *out)
{
    const char *host = fleet_words_host(f, v, v->order[c->first]);
    if (c->n == 1) {
        fleet_words_add_member(f, v, v->order[c->first], out);
    } else {
        text_addf(out, "%u %s ", c->n, v->members.ranked ? "ranks" : "processes");
        text_addf(out, "%lld", (long long)fleet_words_number(f, v, v->order[c->first]));
        text_addf(out, c->n == 2 ? ", %lld" : " … %lld",
                  (long long)fleet_words_number(f, v, v->order[c->first + c->n - 1]));
    }
    if (world && v->members.world)
        text_addf(out, " of %lld", (long long)v->members.world);
    for (uint32_t i = 1; i < c->n && *host; i++)
        host = str_eq(fleet_words_host(f, v, v->order[c->first + i]), host) ? host : "";
    if (*host) {
        text_add(out, " (");
        text_add_tame_cut(out, host, 16);
        text_add(out, ")");
    }
}

static bool awaits_others(const struct fleet *f, const struct verdict_class *c)
{
    return f->waits[f->threads[c->thread].wait].doing >= DOES_AWAIT;
}

static void add_wait(const struct fleet *f, const struct verdict_class *c, bool object,
                     struct text *out)
{
    const struct fleet_wait *w = &f->waits[f->threads[c->thread].wait];
    const char *words = fleet_see_text(f, object ? w->words : w->sort);
    if (!*words)
        return;
    text_add(out, ", ");
    text_add_tame(out, words, strlen(words));
}

/* Where rounds tell it: does the odd one go on, slowly, or not at all? */
static void add_moved(const struct verdict *v, const struct verdict_class *c, struct text *out)
{
    static const char *const words[] = {[MOVED_UNKNOWN] = "",
                                        [MOVED] = ", moves",
                                        [MOVED_NOT] = ", does not move",
                                        [MOVED_NOT_NO_CPU] = ", no CPU"};
    text_add(out, words[v->moved[v->order[c->first]]]);
}

/* Where the others are.  Where only functions of libraries tell them from the odd one, and there is
 * little room, these alone. */
static void add_others(const struct fleet *f, const struct verdict *v, const struct brevity *b,
                       struct text *out)
{
    const struct verdict_class *odd = &v->classes[v->odd];
    const struct verdict_class *others = &v->classes[v->others];
    struct place p = find_place(f, others, odd);
    if (b->own && p.part && !is_own(f, p.part) && !own_frames_differ(f, others, odd))
        fleet_words_add_name(f, p.part, b->columns, out);
    else
        add_place(f, others, odd, b, b->lined || v->level == LEVEL_LINES, out);
    if (v->level == LEVEL_WAIT)
        add_wait(f, others, false, out);
}

static void add_odd(const struct fleet *f, const struct verdict *v, const struct brevity *b,
                    struct text *out)
{
    const struct verdict_class *odd = &v->classes[v->odd];
    const struct verdict_class *others = &v->classes[v->others];
    bool threads = v->level == LEVEL_THREADS;
    add_who(f, v, odd, b->world, out);
    text_add(out, threads ? ": a thread in " : ": ");
    add_place(f, odd, threads ? NULL : others, b, true, out);
    if (b->wait || !awaits_others(f, odd))
        add_wait(f, odd, b->object, out);
    add_moved(v, odd, out);
    text_addf(out, "; %u other%s", others->n, others->n == 1 ? "" : "s");
    if (threads || v->level == LEVEL_CHAIN) {
        text_add(out, threads ? " not" : odd->n == 1 ? " wait for it" : " wait for them");
        return;
    }
    text_add(out, ": ");
    add_others(f, v, b, out);
}

void headline_add_class(const struct fleet *f, const struct verdict *v, size_t i, size_t columns,
                        struct text *out)
{
    static const struct brevity steps[] = {
        {.wait = true, .object = true, .inner = true, .columns = 32},
        {.wait = true, .inner = true, .columns = 32},
        {.wait = true, .columns = 32},
        {.columns = 32},
        {.own = true, .columns = 32},
    };
    const struct verdict_class *c = &v->classes[i];
    bool compared = v->kind == VERDICT_ODD && v->level != LEVEL_THREADS;
    size_t other = i == v->others ? v->odd : v->others;
    struct text words = {0};
    for (size_t step = 0; step < sizeof steps / sizeof *steps; step++) {
        const struct brevity *b = &steps[step];
        text_clear(&words);
        add_place(f, c, compared ? &v->classes[other] : NULL, b, true, &words);
        if (b->wait || !awaits_others(f, c))
            add_wait(f, c, b->object, &words);
        add_moved(v, c, &words);
        if (utf8_columns(words.s, words.len) <= columns)
            break;
    }
    text_add_cut(out, words.s, words.len, columns);
    text_release(&words);
}

static void add_absent(const struct verdict *v, struct text *out)
{
    const struct members *m = &v->members;
    if (m->n_absent == 1)
        text_addf(out, "rank %lld of %lld sent nothing", (long long)m->absent[0],
                  (long long)m->world);
    else
        text_addf(out, "%zu of %lld ranks sent nothing, as rank %lld", m->n_absent,
                  (long long)m->world, (long long)m->absent[0]);
}

static void add_even(const struct fleet *f, const struct verdict *v, const struct brevity *b,
                     struct text *out)
{
    const char *noun = v->members.ranked ? "ranks" : "processes";
    const struct verdict_class *all = &v->classes[v->n_classes - 1];
    struct brevity place = *b;
    place.inner = false;
    if (v->kind == VERDICT_MOVES) {
        text_addf(out, "%zu of %zu %s ran or moved on: none stands out", v->members.n - v->n_still,
                  v->members.n, noun);
        return;
    }
    if (v->members.n == 1) {
        add_who(f, v, all, b->world, out);
        text_add(out, " alone: ");
    } else {
        text_addf(out, "all %zu %s do the same: ", v->members.n, noun);
    }
    add_place(f, all, NULL, &place, true, out);
    add_wait(f, all, b->object, out);
}

static void add_first(const struct fleet *f, const struct verdict *v, const struct brevity *b,
                      struct text *out)
{
    bool absent = verdict_absent_first(v, f);
    if (v->kind == VERDICT_NOBODY) {
        text_add(out, "no process in these dumps");
        return;
    }
    if (absent && v->kind == VERDICT_ODD) {
        add_absent(v, out);
        text_add(out, "; ");
        add_odd(f, v, b, out);
        return;
    }
    if (absent) {
        const struct verdict_class *others = &v->classes[v->n_classes - 1];
        struct brevity place = *b;
        place.inner = false;
        add_absent(v, out);
        text_addf(out, "; %u others: ", others->n);
        add_place(f, others, NULL, &place, b->lined, out);
        add_wait(f, others, b->object, out);
        return;
    }
    if (v->kind == VERDICT_ODD)
        add_odd(f, v, b, out);
    else
        add_even(f, v, b, out);
}

void headline_add(const struct fleet *f, const struct verdict *v, size_t width, struct text *out)
{
    static const struct brevity steps[] = {
        {.world = true, .object = true, .inner = true, .lined = true, .wait = true, .columns = 40},
        {.world = true, .inner = true, .lined = true, .wait = true, .columns = 40},
        {.inner = true, .lined = true, .wait = true, .columns = 32},
        {.lined = true, .wait = true, .columns = 32},
        {.wait = true, .columns = 32},
        {.wait = true, .columns = 20},
        {.columns = 32},
        {.lined = true, .own = true, .columns = 32},
        {.own = true, .columns = 16},
    };
    struct text line = {0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        text_clear(&line);
        add_first(f, v, &steps[i], &line);
        if (utf8_columns(line.s, line.len) <= width)
            break;
    }
    text_add_cut(out, line.s, line.len, width);
    text_release(&line);
}
