#include "fleet/fleet_words.h"

#include <string.h>

static void add_tame(struct text *out, const char *s)
{
    text_add_tame(out, s, strlen(s));
}

const char *fleet_words_host(const struct fleet *f, const struct verdict *v, uint32_t member)
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

int64_t fleet_words_number(const struct fleet *f, const struct verdict *v, uint32_t member)
{
    int64_t rank = v->members.items[member].rank;
    return rank >= 0 ? rank : verdict_process(f, v, member)->pid;
}

/* Adds the numbers of the members FROM to END of C, those in a row as ranges. */
static void add_numbers(const struct fleet *f, const struct verdict *v,
                        const struct verdict_class *c, uint32_t from, uint32_t end,
                        struct text *out)
{
    const uint32_t *order = &v->order[c->first];
    for (uint32_t k = from; k < end;) {
        uint32_t to = k;
        while (v->members.ranked && to + 1 < end &&
               fleet_words_number(f, v, order[to + 1]) == fleet_words_number(f, v, order[to]) + 1)
            to++;
        text_add(out, k > from ? ", " : "");
        add_range(fleet_words_number(f, v, order[k]), fleet_words_number(f, v, order[to]), out);
        k = to + 1;
    }
}

/* " (node1)"; of one rank alone with the pid, which is the next that a reader asks for. */
static void add_host(const struct fleet *f, const struct verdict *v, uint32_t member, bool pid,
                     struct text *out)
{
    const char *host = fleet_words_host(f, v, member);
    if (!*host && !pid)
        return;
    text_add(out, " (");
    add_tame(out, host);
    if (pid)
        text_addf(out, "%spid %lld", *host ? ", " : "",
                  (long long)verdict_process(f, v, member)->pid);
    text_add(out, ")");
}

void fleet_words_add_members(const struct fleet *f, const struct verdict *v,
                             const struct verdict_class *c, struct text *out)
{
    const uint32_t *order = &v->order[c->first];
    for (uint32_t i = 0, end; i < c->n; i = end) {
        const char *host = fleet_words_host(f, v, order[i]);
        for (end = i + 1; end < c->n && str_eq(fleet_words_host(f, v, order[end]), host);)
            end++;
        text_add(out, i ? ", " : "");
        add_numbers(f, v, c, i, end, out);
        add_host(f, v, order[i], v->members.ranked && c->n == 1, out);
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

void fleet_words_add_name(const struct fleet *f, uint32_t node, size_t columns, struct text *out)
{
    struct text name = {0};
    add_tame(&name, fleet_see_text(f, function_of(f, node)->name));
    text_add_cut(out, name.len ? name.s : "", name.len, columns);
    text_release(&name);
}

void fleet_words_add_frame(const struct fleet *f, const struct verdict_class *c, uint32_t node,
                           size_t columns, bool lined, struct text *out)
{
    uint32_t line = fleet_words_line(f, c, node);
    const char *file = fleet_see_text(f, function_of(f, node)->file);
    fleet_words_add_name(f, node, columns, out);
    if (lined && *file && function_of(f, node)->python) {
        text_add(out, " ");
        add_tame(out, file);
        if (line)
            text_addf(out, ":%u", line);
    }
}

bool fleet_words_shows(const struct fleet *f, uint32_t node)
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
        if (fleet_words_shows(f, at))
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
        fleet_words_add_frame(f, c, way[i], NAME_COLUMNS, true, out);
    }
}

static void add_chain_end(const struct fleet *f, const struct verdict *v, uint32_t member,
                          struct text *out)
{
    fleet_words_add_member(f, v, member, out);
    add_host(f, v, member, false, out);
}

/* The members at the end of the chains. */
static void add_ends(const struct fleet *f, const struct verdict *v, struct text *out)
{
    enum { MOST_SHOWN = 8 };
    const struct wait_chain *c = &v->chain;
    size_t n = 0;
    for (uint32_t i = 0; i < v->members.n; i++) {
        if (!c->is_end[v->members.items[i].last] || n == MOST_SHOWN)
            continue;
        text_add(out, n++ ? ", " : "");
        add_chain_end(f, v, i, out);
    }
    if (!n)
        text_addf(out, "process %lld", (long long)f->processes[c->end].pid);
}

/* For whom the end itself waits. */
static void add_end_waits(const struct fleet *f, const struct wait_chain *c, struct text *out)
{
    const struct outside *outside = &c->outside[c->end];
    if (c->circle)
        text_addf(out, "%s in a circle", c->waiting ? ", which wait" : " wait");
    else if (c->any_of[c->end])
        text_addf(out, ", which waits for any of %u", c->any_of[c->end]);
    if (outside->remote == FLEET_NONE && !outside->pid)
        return;
    text_add(out, ", which waits for ");
    if (outside->remote != FLEET_NONE)
        add_tame(out, fleet_see_text(f, outside->remote));
    else
        text_addf(out, "process %lld", (long long)outside->pid);
    text_add(out, ", of no dump");
}

void fleet_words_add_chain(const struct fleet *f, const struct verdict *v, struct text *out)
{
    const struct wait_chain *c = &v->chain;
    if (c->end == FLEET_NONE || !(c->waiting || c->circle))
        return;
    if (c->waiting)
        text_addf(out, "%zu %s wait, straight or through others, for ", c->waiting,
                  v->members.ranked ? "ranks" : "processes");
    add_ends(f, v, out);
    add_end_waits(f, c, out);
}

void fleet_words_add_peers(const struct verdict *v, const struct verdict_class *c, struct text *out)
{
    uint32_t least = 0;
    uint32_t most = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t process = v->members.items[v->order[c->first + i]].last;
        uint32_t n = v->chain.any_of[process];
        if (!n || v->chain.next[process] != FLEET_NONE)
            return;
        least = !least || n < least ? n : least;
        most = n > most ? n : most;
    }
    text_addf(out, ", for any of %u", least);
    if (most > least)
        text_addf(out, " to %u", most);
    text_add(out, " others");
}

void fleet_words_add_input(const struct fleet_input *in, struct text *out)
{
    add_tame(out, in->name);
    text_addf(out, ": %s", in->wrong);
    if (in->documents > 1)
        text_addf(out, " (dump %llu)", (unsigned long long)in->wrong_at);
}
