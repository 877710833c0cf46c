/* What the dumps of a job say, for people; docs/fleet.md. */
#include "cli/fleet_report.h"

#include <string.h>

#include "cli/terminal.h"
#include "fleet/rank_map.h"

enum { MOST_CLASSES = 8, MOST_INPUTS = 8, MEMBER_LINES_COLUMNS = 400 };

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* Adds WORDS, wrapped, behind INDENT spaces. */
static void add_block(struct text *out, const struct text *words, size_t indent, size_t width)
{
    text_add_line(out, text_str(words), indent, indent + 2, width);
}

static void add_moved(const struct verdict *v, const struct verdict_class *c, struct text *out)
{
    static const char *const words[] = {
        [MOVED] = "moved", [MOVED_NOT] = "did not move", [MOVED_NOT_NO_CPU] = "got no CPU"};
    size_t counts[MOVED_NOT_NO_CPU + 1] = {0};
    const char *before = "; between the rounds ";
    for (uint32_t i = 0; i < c->n; i++)
        counts[v->moved[v->order[c->first + i]]]++;
    for (unsigned m = MOVED; m <= MOVED_NOT_NO_CPU; m++) {
        if (!counts[m])
            continue;
        text_add(out, before);
        if (counts[m] < c->n)
            text_addf(out, "%zu ", counts[m]);
        text_add(out, words[m]);
        before = ", ";
    }
}

/* "7 ranks: 0-2 (node6), 4-7 (node7)", the ranks in COLUMNS at most. */
static void add_members(const struct fleet *f, const struct verdict *v,
                        const struct verdict_class *c, size_t columns, struct text *words)
{
    struct text members = {0};
    const char *noun = v->members.ranked ? "rank" : "process";
    text_addf(words, "%u %s%s: ", c->n, noun, c->n == 1 ? "" : v->members.ranked ? "s" : "es");
    fleet_words_add_members(f, v, c, &members);
    text_add_cut(words, members.s, members.len, columns);
    text_release(&members);
}

static void add_class(const struct fleet *f, const struct verdict *v, const struct verdict_class *c,
                      size_t width, struct text *out)
{
    struct text words = {0};
    struct text members = {0};
    add_members(f, v, c, MEMBER_LINES_COLUMNS, &words);
    rank_map_add_common(f, v, c, &members);
    if (members.len)
        text_addf(&words, ": %s", members.s);
    text_release(&members);
    add_block(out, &words, 2, width);
    text_clear(&words);
    const char *wait = fleet_see_text(f, f->waits[f->threads[c->thread].wait].words);
    text_add_tame(&words, wait, strlen(wait));
    fleet_words_add_peers(v, c, &words);
    add_moved(v, c, &words);
    if (words.len)
        add_block(out, &words, 6, width);
    text_clear(&words);
    fleet_words_add_way(f, c, &words);
    add_block(out, &words, 6, width);
    text_release(&words);
}

/* The smallest ones, and the largest. */
static void add_classes(const struct fleet *f, const struct verdict *v, size_t width,
                        struct text *out)
{
    size_t n = v->n_classes;
    size_t left_out = n > MOST_CLASSES ? n - MOST_CLASSES : 0;
    uint32_t members = 0;
    for (size_t i = 0; i < n; i++) {
        bool shown = i + 1 == n || i + 1 < MOST_CLASSES;
        if (shown && i + 1 == n && left_out)
            text_addf(out, "  %u %s in %zu other places: --json\n", members,
                      v->members.ranked ? "ranks" : "processes", left_out);
        if (shown)
            add_class(f, v, &v->classes[i], width, out);
        else
            members += v->classes[i].n;
    }
}

/* Nothing where none is absent. */
static void add_absent_words(const struct members *m, struct text *words)
{
    struct text ranks = {0};
    if (!m->n_absent)
        return;
    fleet_words_add_ranks(m->absent, m->n_absent, &ranks);
    text_addf(words, "%zu of %lld ranks sent nothing: ", m->n_absent, (long long)m->world);
    text_add_cut(words, ranks.s, ranks.len, MEMBER_LINES_COLUMNS);
    text_release(&ranks);
}

static void add_absent(const struct members *m, size_t width, struct text *out)
{
    struct text words = {0};
    add_absent_words(m, &words);
    if (words.len)
        add_block(out, &words, 0, width);
    text_release(&words);
}

/* Returns how many inputs were not read to their end. */
static size_t add_counts(const struct fleet *f, const struct verdict *v, struct text *words)
{
    size_t wrong = 0;
    size_t documents = 0;
    for (size_t i = 0; i < f->n_inputs; i++) {
        wrong += f->inputs[i].wrong != NULL;
        documents += f->inputs[i].documents;
    }
    text_addf(words, "%zu input%s, %zu dump%s, %zu process%s", f->n_inputs, plural(f->n_inputs),
              documents, plural(documents), f->n_processes, f->n_processes == 1 ? "" : "es");
    if (v->n_rounds > 1)
        text_addf(words, ", %zu rounds", v->n_rounds);
    if (wrong)
        text_addf(words, "; not read to the end: %zu", wrong);
    return wrong;
}

static void add_inputs(const struct fleet *f, const struct verdict *v, size_t width,
                       struct text *out)
{
    struct text words = {0};
    size_t wrong = add_counts(f, v, &words);
    add_block(out, &words, 0, width);
    size_t shown = 0;
    for (size_t i = 0; i < f->n_inputs && shown < MOST_INPUTS; i++) {
        if (!f->inputs[i].wrong)
            continue;
        shown++;
        text_clear(&words);
        fleet_words_add_input(&f->inputs[i], &words);
        add_block(out, &words, 2, width);
    }
    if (wrong > shown)
        text_addf(out, "  and %zu more: --json\n", wrong - shown);
    text_release(&words);
}

/* Nothing where all were compared. */
static void add_aside_words(const struct verdict *v, struct text *words)
{
    if (v->members.twice)
        text_addf(words, "%zu process%s of a second job here? Other processes have these ranks. ",
                  v->members.twice, v->members.twice == 1 ? "" : "es");
    if (v->members.aside)
        text_addf(words, "%zu process%s %s, and not compared", v->members.aside,
                  v->members.aside == 1 ? "" : "es",
                  v->members.ranked ? "without a rank" : "of other command lines, or launchers");
}

static void add_aside(const struct verdict *v, size_t width, struct text *out)
{
    struct text words = {0};
    add_aside_words(v, &words);
    if (words.len)
        add_block(out, &words, 0, width);
    text_release(&words);
}

static void add_chain(const struct fleet *f, const struct verdict *v, size_t width,
                      struct text *out)
{
    struct text words = {0};
    fleet_words_add_chain(f, v, &words);
    if (words.len)
        add_block(out, &words, 2, width);
    text_release(&words);
}

void fleet_text_add(const struct fleet *f, const struct verdict *v, size_t width, struct text *out)
{
    headline_add(f, v, width, out);
    text_add(out, "\n");
    add_chain(f, v, width, out);
    add_classes(f, v, width, out);
    add_absent(&v->members, width, out);
    add_aside(v, width, out);
    add_inputs(f, v, width, out);
}

/* ---- --brief ---- */

/* Adds WORDS as one line, cut, and clears them.  No words, no line. */
static void add_line(struct text *words, size_t indent, struct text *out)
{
    if (words->len) {
        text_addf(out, "%*s", (int)indent, "");
        text_add_cut(out, words->s, words->len, TERMINAL_TEXT_WIDTH - indent);
        text_add(out, "\n");
    }
    text_clear(words);
}

/* The smallest ones, the one that the first line names, and the largest: five at most. */
static void add_brief_classes(const struct fleet *f, const struct verdict *v, struct text *words,
                              struct text *out)
{
    enum { SMALLEST = 4, MEMBERS_COLUMNS = 32, INDENT = 2 };
    size_t last = v->n_classes - 1;
    size_t smallest = v->odd < SMALLEST ? SMALLEST : SMALLEST - 1;
    size_t left_out = 0;
    uint32_t members = 0;
    for (size_t i = 0; i < v->n_classes; i++) {
        bool shown = i < smallest || i == v->odd || i == last;
        if (!shown) {
            left_out++;
            members += v->classes[i].n;
            continue;
        }
        if (i == last && left_out)
            text_addf(out, "  %u %s in %zu other places: --json\n", members,
                      v->members.ranked ? "ranks" : "processes", left_out);
        add_members(f, v, &v->classes[i], MEMBERS_COLUMNS, words);
        text_add(words, ": ");
        size_t used = utf8_columns(words->s, words->len) + INDENT;
        headline_add_class(f, v, i, TERMINAL_TEXT_WIDTH - used, words);
        add_line(words, INDENT, out);
    }
}

static void add_brief_inputs(const struct fleet *f, const struct verdict *v, struct text *words,
                             struct text *out)
{
    enum { NAMED = 2 };
    size_t n = 0;
    size_t wrong = add_counts(f, v, words);
    add_line(words, 0, out);
    for (size_t i = 0; i < f->n_inputs && n < NAMED; i++) {
        if (!f->inputs[i].wrong)
            continue;
        text_add(words, n++ ? "; " : "");
        fleet_words_add_input(&f->inputs[i], words);
    }
    if (wrong > n)
        text_addf(words, "; and %zu more: --json", wrong - n);
    add_line(words, 2, out);
}

void fleet_text_add_brief(const struct fleet *f, const struct verdict *v, struct text *out)
{
    struct text words = {0};
    headline_add(f, v, TERMINAL_TEXT_WIDTH, &words);
    add_line(&words, 0, out);
    fleet_words_add_chain(f, v, &words);
    add_line(&words, 2, out);
    add_brief_classes(f, v, &words, out);
    add_absent_words(&v->members, &words);
    add_line(&words, 0, out);
    add_aside_words(v, &words);
    add_line(&words, 0, out);
    add_brief_inputs(f, v, &words, out);
    text_release(&words);
}
