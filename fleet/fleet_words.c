#include "fleet/fleet_words.h"

#include <string.h>

static void add_tame(struct text *out, const char *s)
{
    text_add_tame(out, s, strlen(s));
}

static const char *host_of(const struct fleet *f, const struct verdict *v, uint32_t member)
{
    return fleet_see_text(f, verdict_process(f, v, member)->host);
}

/* ---- who ---- */

void fleet_words_add_member(const struct fleet *f, const struct verdict *v, uint32_t member,
                            struct text *out)
{
    const struct member *m = &v->members.items[member];
    if (m->rank >= 0)
        text_addf(out, "rank %lld", (long long)m->rank);
    else
        text_addf(out, "process %lld", (long long)verdict_process(f, v, member)->pid);
}

static void add_range(int64_t from, int64_t to, struct text *out)
{
    text_addf(out, "%lld", (long long)from);
    if (to > from)
        text_addf(out, to == from + 1 ? ", %lld" : "-%lld", (long long)to);
}

void fleet_words_add_ranks(const int64_t *ranks, size_t n, struct text *out)
{
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k + 1 < n && ranks[k + 1] == ranks[k] + 1)
            k++;
        text_add(out, i ? ", " : "");
        add_range(ranks[i], ranks[k], out);
        i = k + 1;
    }
}

static int64_t number_of(const struct fleet *f, const struct verdict *v, uint32_t member)
{
    int64_t rank = v->members.items[member].rank;
    return rank >= 0 ? rank : verdict_process(f, v, member)->pid;
}

void fleet_words_add_members(const struct fleet *f, const struct verdict *v,
                             const struct verdict_class *c, struct text *out)
{
    const uint32_t *order = &v->order[c->first];
    bool ranked = v->members.ranked;
    for (uint32_t i = 0; i < c->n;) {
        const char *host = host_of(f, v, order[i]);
        uint32_t end = i;
        while (end < c->n && str_eq(host_of(f, v, order[end]), host))
            end++;
        text_add(out, i ? ", " : "");
        for (uint32_t k = i; k < end;) {
            uint32_t to = k;
            while (ranked && to + 1 < end &&
                   number_of(f, v, order[to + 1]) == number_of(f, v, order[to]) + 1)
                to++;
            text_add(out, k > i ? ", " : "");
            add_range(number_of(f, v, order[k]), number_of(f, v, order[to]), out);
            k = to + 1;
        }
        if (*host) {
            text_add(out, " (");
            add_tame(out, host);
            text_add(out, ")");
        }
        i = end;
    }
}

/* ---- where ---- */

uint32_t fleet_words_line(const struct fleet *f, const struct verdict_class *c, uint32_t node)
{
    const struct fleet_node *n = &f->nodes[node];
    size_t at = (size_t)c->lines + n->depth - 1;
    return c->lines != FLEET_NONE && at < f->n_lines ? f->lines[at] : n->line;
}

static const struct function *function_of(const struct fleet *f, uint32_t node)
{
    return &f->functions.items[f->nodes[node].function];
}

static void add_name(const struct fleet *f, uint32_t node, size_t columns, struct text *out)
{
    struct text name = {0};
    add_tame(&name, fleet_see_text(f, function_of(f, node)->name));
    text_add_cut(out, name.len ? name.s : "", name.len, columns);
    text_release(&name);
}

static void add_frame(const struct fleet *f, const struct verdict_class *c, uint32_t node,
                      size_t columns, bool lined, struct text *out)
{
    uint32_t line = fleet_words_line(f, c, node);
    const char *file = fleet_see_text(f, function_of(f, node)->file);
    add_name(f, node, columns, out);
    if (lined && *file && function_of(f, node)->python) {
        text_add(out, " ");
        add_tame(out, file);
        if (line)
            text_addf(out, ":%u", line);
    }
}

/* The library's function that the frame OWN calls, on the way to NODE; 0: none. */
static uint32_t called_by(const struct fleet *f, uint32_t own, uint32_t node)
{
    uint32_t ret = 0;
    for (uint32_t at = node; at && at != own; at = f->nodes[at].parent)
        if (function_of(f, at)->role == FUNCTION_IS_LIBRARY)
            ret = at;
    return ret;
}

void fleet_words_add_place(const struct fleet *f, struct verdict *v, const struct verdict_class *c,
                           bool called, bool lined, size_t columns, struct text *out)
{
    uint32_t node = f->threads[c->thread].path;
    uint32_t own = shapes_of(&v->shapes, f, node)->own;
    uint32_t library = called_by(f, own, node);
    uint32_t shown = own ? own : library ? library : node;
    if (!shown) {
        text_add(out, "no stack");
        return;
    }
    add_frame(f, c, shown, columns, lined, out);
    if (called && own && library) {
        text_add(out, " > ");
        add_name(f, library, columns, out);
    }
}

static bool is_shown(const struct fleet *f, uint32_t node)
{
    const struct function *function = function_of(f, node);
    bool inlined = function->inlined && function->role == FUNCTION_IS_LIBRARY;
    return function->role != FUNCTION_IS_PASSED && !inlined;
}

void fleet_words_add_way(const struct fleet *f, const struct verdict_class *c, struct text *out)
{
    enum { MOST_SHOWN = 16, NAME_COLUMNS = 48 };
    uint32_t way[FLEET_FRAMES];
    size_t n = 0;
    for (uint32_t at = f->threads[c->thread].path; at && n < FLEET_FRAMES; at = f->nodes[at].parent)
        if (is_shown(f, at))
            way[n++] = at;
    if (!n)
        text_add(out, "no stack");
    for (size_t i = n; i-- > 0;) {
        if (n > MOST_SHOWN && i == n - MOST_SHOWN / 2) {
            text_add(out, " > …");
            i = MOST_SHOWN / 2;
            continue;
        }
        text_add(out, i == n - 1 ? "" : " > ");
        add_frame(f, c, way[i], NAME_COLUMNS, true, out);
    }
}

/* ---- the first line ---- */

struct brevity { /* what the first line has room for */
    bool world, object, odd_called, others_called, others_lined;
    size_t columns;
};

static void add_who(const struct fleet *f, const struct verdict *v, const struct verdict_class *c,
                    bool world, struct text *out)
{
    const char *host = host_of(f, v, v->order[c->first]);
    if (c->n == 1) {
        fleet_words_add_member(f, v, v->order[c->first], out);
    } else {
        text_addf(out, "%u %s ", c->n, v->members.ranked ? "ranks" : "processes");
        text_addf(out, "%lld", (long long)number_of(f, v, v->order[c->first]));
        text_addf(out, c->n == 2 ? ", %lld" : " … %lld",
                  (long long)number_of(f, v, v->order[c->first + c->n - 1]));
    }
    if (world && v->members.world)
        text_addf(out, " of %lld", (long long)v->members.world);
    for (uint32_t i = 1; i < c->n && *host; i++)
        host = str_eq(host_of(f, v, v->order[c->first + i]), host) ? host : "";
    if (*host) {
        text_add(out, " (");
        struct text tame = {0};
        add_tame(&tame, host);
        text_add_cut(out, tame.len ? tame.s : "", tame.len, 16);
        text_release(&tame);
        text_add(out, ")");
    }
}

static void add_wait(const struct fleet *f, const struct verdict_class *c, bool object,
                     struct text *out)
{
    const struct fleet_wait *w = &f->waits[f->threads[c->thread].wait];
    const char *words = fleet_see_text(f, object ? w->words : w->sort);
    if (!*words)
        return;
    text_add(out, ", ");
    add_tame(out, words);
}

static void add_odd(const struct fleet *f, struct verdict *v, const struct brevity *b,
                    struct text *out)
{
    const struct verdict_class *odd = &v->classes[v->odd];
    const struct verdict_class *others = &v->classes[v->others];
    add_who(f, v, odd, b->world, out);
    text_add(out, v->level == LEVEL_THREADS ? ": a thread in " : ": ");
    fleet_words_add_place(f, v, odd, b->odd_called, true, b->columns, out);
    add_wait(f, odd, b->object, out);
    text_addf(out, "; %u other%s", others->n, others->n == 1 ? "" : "s");
    if (v->level == LEVEL_THREADS) {
        text_add(out, " not");
        return;
    }
    text_add(out, ": ");
    fleet_words_add_place(f, v, others, b->others_called, b->others_lined, b->columns, out);
    if (v->level == LEVEL_WAIT)
        add_wait(f, others, false, out);
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

static void add_even(const struct fleet *f, struct verdict *v, const struct brevity *b,
                     struct text *out)
{
    const char *noun = v->members.ranked ? "ranks" : "processes";
    const struct verdict_class *all = &v->classes[v->n_classes - 1];
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
    fleet_words_add_place(f, v, all, b->odd_called, true, b->columns, out);
    add_wait(f, all, b->object, out);
}

static void add_first(const struct fleet *f, struct verdict *v, const struct brevity *b,
                      struct text *out)
{
    bool absent = verdict_absent_first(v, f);
    if (v->kind == VERDICT_NOBODY) {
        text_add(out, "no process in these dumps");
        return;
    }
    if (absent) {
        const struct verdict_class *others = &v->classes[v->n_classes - 1];
        add_absent(v, out);
        text_addf(out, "; %u others: ", others->n);
        fleet_words_add_place(f, v, others, b->others_called, b->others_lined, b->columns, out);
        add_wait(f, others, b->object, out);
        return;
    }
    if (v->kind == VERDICT_ODD)
        add_odd(f, v, b, out);
    else
        add_even(f, v, b, out);
}

void fleet_words_add_headline(const struct fleet *f, struct verdict *v, size_t width,
                              struct text *out)
{
    /* Where only what they call tells them apart it must stay. */
    static const struct brevity steps[] = {
        {true, true, true, true, true, 40},      {true, true, false, false, true, 40},
        {true, false, false, false, true, 40},   {false, false, false, false, true, 32},
        {false, false, false, false, false, 32}, {false, false, false, false, false, 16},
    };
    bool called = v->level == LEVEL_WHOLE;
    bool lined = v->level == LEVEL_LINES;
    struct text line = {0};
    if (v->kind == VERDICT_ODD && v->level == LEVEL_PLACE) {
        const struct shape *a =
            shapes_of(&v->shapes, f, f->threads[v->classes[v->odd].thread].path);
        uint32_t own = a->own;
        a = shapes_of(&v->shapes, f, f->threads[v->classes[v->others].thread].path);
        called = own && a->own && f->nodes[own].function == f->nodes[a->own].function;
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct brevity b = steps[i];
        b.odd_called |= called;
        b.others_called |= called;
        b.others_lined |= lined;
        text_clear(&line);
        add_first(f, v, &b, &line);
        if (utf8_columns(line.s, line.len) <= width)
            break;
    }
    text_add_cut(out, line.s, line.len, width);
    text_release(&line);
}

void fleet_words_add_input(const struct fleet_input *in, struct text *out)
{
    add_tame(out, in->name);
    text_addf(out, ": %s", in->wrong);
    if (in->documents > 1)
        text_addf(out, " (dump %llu)", (unsigned long long)in->wrong_at);
}
