/* What the dumps of a job say, for programs; docs/fleet.md, docs/report-1.schema.json. */
#include "cli/fleet_report.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cli/json_head.h"
#include "cli/terminal.h"
#include "fleet/rank_map.h"

/* Of each list: a program that reads of 10,000 ranks has their numbers as ranges, and counts. */
enum { MOST_ITEMS = 1000, MOST_CLASSES = 64 };

/* "0-511,513": N ascending ranks. */
static void write_ranges(struct json *j, const char *key, const int64_t *ranks, size_t n)
{
    struct text words = {0};
    size_t stretches = 0;
    text_add(&words, "");
    for (size_t i = 0, to; i < n && stretches <= MOST_ITEMS; i = to + 1) {
        for (to = i; to + 1 < n && ranks[to + 1] == ranks[to] + 1; to++)
            continue;
        text_add(&words, i ? "," : "");
        if (++stretches > MOST_ITEMS)
            text_add(&words, "…");
        else if (to > i)
            text_addf(&words, "%lld-%lld", (long long)ranks[i], (long long)ranks[to]);
        else
            text_addf(&words, "%lld", (long long)ranks[i]);
    }
    json_string_field(j, key, words.s);
    text_release(&words);
}

static void write_ranks(struct json *j, const struct verdict *v, const struct verdict_class *c)
{
    if (!v->members.ranked) {
        json_string_field(j, "ranks", NULL);
        return;
    }
    int64_t *ranks = xcalloc(c->n + 1, sizeof *ranks);
    for (uint32_t i = 0; i < c->n; i++)
        ranks[i] = v->members.items[v->order[c->first + i]].rank;
    write_ranges(j, "ranks", ranks, c->n);
    free(ranks);
}

static void write_member(struct json *j, const struct fleet *f, const struct fleet_process *p)
{
    if (json_known(j, "rank", p->rank >= 0))
        json_int(j, p->rank);
    json_string_field(j, "host", fleet_see_text(f, p->host));
    json_int_field(j, "pid", p->pid);
}

/* For whom MEMBER waits. */
static void write_next(struct json *j, const struct fleet *f, const struct verdict *v,
                       uint32_t member)
{
    uint32_t process = v->members.items[member].last;
    uint32_t next = v->chain.next[process];
    json_key(j, "waits_for");
    if (next == FLEET_NONE) {
        json_null(j);
    } else {
        json_object(j);
        write_member(j, f, &f->processes[next]);
        json_end_object(j);
    }
    json_int_field(j, "any_of", next == FLEET_NONE ? v->chain.any_of[process] : 0);
}

static void write_members(struct json *j, const struct fleet *f, const struct verdict *v,
                          const struct verdict_class *c)
{
    static const char *const moved[] = {[MOVED_UNKNOWN] = NULL,
                                        [MOVED] = "moved",
                                        [MOVED_NOT] = "same",
                                        [MOVED_NOT_NO_CPU] = "same, no CPU"};
    json_array_field(j, "members");
    for (uint32_t i = 0; i < c->n && i < MOST_ITEMS; i++) {
        uint32_t member = v->order[c->first + i];
        const struct fleet_process *p = verdict_process(f, v, member);
        json_object(j);
        write_member(j, f, p);
        json_string_field(j, "moved", moved[v->moved[member]]);
        write_next(j, f, v, member);
        json_end_object(j);
    }
    json_end_array(j);
}

static void write_frames(struct json *j, const struct fleet *f, const struct verdict_class *c)
{
    json_array_field(j, "frames");
    for (uint32_t at = f->threads[c->thread].path; at; at = f->nodes[at].parent) {
        const struct function *function = &f->functions.items[f->nodes[at].function];
        uint32_t line = fleet_words_line(f, c, at);
        json_object(j);
        json_string_field(j, "kind", function->python ? "python" : "native");
        json_string_field(j, "name", fleet_see_text(f, function->name));
        json_string_field(j, function->python ? "file" : "module",
                          fleet_see_text(f, function->file));
        if (line)
            json_int_field(j, "line", line);
        json_end_object(j);
    }
    json_end_array(j);
}

static void write_class(struct json *j, const struct fleet *f, const struct verdict *v, size_t i)
{
    const struct verdict_class *c = &v->classes[i];
    const struct fleet_thread *t = &f->threads[c->thread];
    bool odd = v->kind == VERDICT_ODD && i == v->odd;
    json_newline(j);
    json_object(j);
    json_bool_field(j, "odd", odd);
    json_int_field(j, "n", c->n);
    write_ranks(j, v, c);
    json_string_field(j, "does", fleet_see_text(f, f->waits[t->wait].words));
    json_string_field(j, "thread", fleet_see_text(f, t->name));
    struct text common = {0};
    rank_map_add_common(f, v, c, &common);
    json_string_field(j, "common", common.len ? common.s : NULL);
    text_release(&common);
    write_members(j, f, v, c);
    write_frames(j, f, c);
    json_end_object(j);
}

/* WRONG: those that were not read to their end, else the others.  Returns how many. */
static size_t write_some_inputs(struct json *j, const struct fleet *f, bool wrong, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_inputs && n < most; i++) {
        const struct fleet_input *in = &f->inputs[i];
        if ((in->wrong != NULL) != wrong)
            continue;
        n++;
        json_newline(j);
        json_object(j);
        json_string_field(j, "name", in->name);
        json_int_field(j, "dumps", in->documents);
        json_int_field(j, "processes", in->processes);
        json_string_field(j, "wrong", in->wrong);
        json_end_object(j);
    }
    return n;
}

static void write_inputs(struct json *j, const struct fleet *f)
{
    size_t wrong = 0;
    for (size_t i = 0; i < f->n_inputs; i++)
        wrong += f->inputs[i].wrong != NULL;
    json_int_field(j, "n_inputs", (int64_t)f->n_inputs);
    json_int_field(j, "n_wrong", (int64_t)wrong);
    json_array_field(j, "inputs");
    size_t n = write_some_inputs(j, f, true, MOST_ITEMS);
    (void)write_some_inputs(j, f, false, MOST_ITEMS - n);
    json_end_array(j);
}

static void write_absent(struct json *j, const struct members *m)
{
    json_int_field(j, "n_absent", (int64_t)m->n_absent);
    write_ranges(j, "absent_ranks", m->absent, m->n_absent);
    json_array_field(j, "absent");
    for (size_t i = 0; i < m->n_absent && i < MOST_ITEMS; i++)
        json_int(j, m->absent[i]);
    json_end_array(j);
}

static void write_outside(struct json *j, const struct fleet *f, const struct outside *o)
{
    struct text words = {0};
    if (o->remote != FLEET_NONE)
        text_add(&words, fleet_see_text(f, o->remote));
    else if (o->pid)
        text_addf(&words, "process %lld", (long long)o->pid);
    json_string_field(j, "outside", words.len ? words.s : NULL);
    text_release(&words);
}

static void write_chain(struct json *j, const struct fleet *f, const struct verdict *v)
{
    const struct wait_chain *c = &v->chain;
    if (!json_known(j, "waits_end", c->end != FLEET_NONE))
        return;
    json_object(j);
    json_int_field(j, "waiting", (int64_t)c->waiting);
    json_bool_field(j, "circle", c->circle);
    write_outside(j, f, &c->outside[c->end]);
    json_array_field(j, "at");
    for (uint32_t i = 0, n = 0; i < f->n_processes && n < MOST_ITEMS; i++) {
        if (!c->is_end[i])
            continue;
        n++;
        json_object(j);
        write_member(j, f, &f->processes[i]);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
}

static void write_verdict(struct json *j, const struct fleet *f, const struct verdict *v)
{
    static const char *const kinds[] = {[VERDICT_NOBODY] = "nobody",
                                        [VERDICT_SAME] = "same",
                                        [VERDICT_MOVES] = "moves",
                                        [VERDICT_ODD] = "odd"};
    static const char *const levels[] = {
        [LEVEL_PLACE] = "functions", [LEVEL_WHOLE] = "libraries", [LEVEL_LINES] = "lines",
        [LEVEL_WAIT] = "waits",      [LEVEL_THREADS] = "threads", [LEVEL_CHAIN] = "chains"};
    struct text line = {0};
    headline_add(f, v, TERMINAL_TEXT_WIDTH, &line);
    json_string_field(j, "headline", line.s);
    text_release(&line);
    json_string_field(j, "verdict", kinds[v->kind]);
    json_string_field(j, "told_apart_by", v->n_classes > 1 ? levels[v->level] : NULL);
    json_int_field(j, "compared", (int64_t)v->members.n);
    json_int_field(j, "stand_still", (int64_t)v->n_still);
    json_int_field(j, "not_compared", (int64_t)v->members.aside);
    json_int_field(j, "twice", (int64_t)v->members.twice);
    json_int_field(j, "world_size", v->members.world);
    json_int_field(j, "rounds", (int64_t)v->n_rounds);
}

/* The smallest, the one that the first line names, and the largest. */
static void write_classes(struct json *j, const struct fleet *f, const struct verdict *v)
{
    json_int_field(j, "n_classes", (int64_t)v->n_classes);
    json_array_field(j, "classes");
    for (size_t i = 0; i < v->n_classes; i++)
        if (i + 1 < MOST_CLASSES || i == v->odd || i + 1 == v->n_classes)
            write_class(j, f, v, i);
    json_end_array(j);
}

int fleet_json(const struct fleet *f, const struct verdict *v, FILE *out)
{
    struct json j = {.out = out};
    json_head(&j, "report/1");
    write_verdict(&j, f, v);
    write_absent(&j, &v->members);
    write_chain(&j, f, v);
    write_classes(&j, f, v);
    write_inputs(&j, f);
    json_end_object(&j);
    return json_finish(&j);
}
