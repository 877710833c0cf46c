#include "summary/known_used.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "summary/view.h"

/* What only leads somewhere is no news, nor is what stands in the C library's manual. */
static bool is_told(const struct known_row *row, enum known_kind kind)
{
    static const unsigned plain = 1U << KNOWN_GLUE | 1U << KNOWN_DOES | 1U << KNOWN_WAITS;
    if (!row->built_in)
        return kind != KNOWN_GLUE;
    return !(plain >> kind & 1) && (row->place != IN_LIBC || row->tested);
}

bool *known_used(const struct view *v)
{
    const struct known_table *t = view_known(v);
    const struct known_marks *marks;
    bool *used = xcalloc(t->n + 1, sizeof *used);
    for (size_t i = 0; (marks = view_marks(v, i)); i++)
        for (int kind = 0; kind < KNOWN_KINDS; kind++)
            if (marks->row[kind] && is_told(marks->row[kind], (enum known_kind)kind))
                used[marks->row[kind] - t->rows] = true;
    return used;
}

void known_add_row(struct text *out, const struct known_row *row)
{
    static const char *const formats[] = {[MATCH_NAME] = "%s",
                                          [MATCH_ANY] = "*",
                                          [MATCH_BEGINS] = "^%s",
                                          [MATCH_WHOLE] = "^%s$",
                                          [MATCH_HAS] = "*%s*"};
    text_addf(out, formats[row->match], row->function);
    text_addf(out, " %s", row->in);
}

void known_write_used(const struct view *v, int width, struct text *out)
{
    enum { INDENT = 9 };
    const struct known_table *t = view_known(v);
    struct text words = {0};
    bool *used = known_used(v);
    for (size_t i = 0; i < t->n; i++)
        if (used[i]) {
            text_add(&words, words.len ? ", " : "");
            known_add_row(&words, &t->rows[i]);
            text_add(&words, t->rows[i].built_in && !t->rows[i].tested ? " (untested)" : "");
        }
    if (words.len) {
        text_add(out, "  known  ");
        (void)text_add_wrapped(out, words.s, INDENT, INDENT, (size_t)width);
        text_add(out, "\n");
    }
    text_release(&words);
    free(used);
}
