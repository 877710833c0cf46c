#include "cli/moments_text.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "profile/profile.h"

enum { MOST_LINES = 20, INDENT = 4 };

static void add_line(struct text *out, uint64_t utc_ns, const char *words)
{
    char utc[CLOCK_UTC_BYTES];
    struct text line = {0};
    clock_utc_ms_text((int64_t)utc_ns, utc);
    text_addf(&line, "%s  ", utc);
    text_add_tame(&line, words, strlen(words));
    text_addf(out, "%*s", INDENT, "");
    text_add_cut(out, line.s, line.len, (size_t)terminal_width() - INDENT);
    text_add(out, "\n");
    text_release(&line);
}

static void add_pause(struct text *out, const struct user_pause *pause)
{
    struct text words = {0};
    text_add(&words, "paused for ");
    text_add_span(&words, (double)pause->paused_ns / NS_PER_S);
    add_line(out, pause->utc_ns, words.s);
    text_release(&words);
}

void moments_print(const struct profile *p)
{
    struct text out = {0};
    size_t n_marks;
    size_t n_pauses;
    const struct user_mark *marks = profile_marks(p, &n_marks);
    const struct user_pause *pauses = profile_pauses(p, &n_pauses);
    size_t mark = 0;
    size_t pause = 0;
    if (!n_marks && !n_pauses)
        return;
    text_add(&out, "  marks:\n");
    while (mark + pause < MOST_LINES && (mark < n_marks || pause < n_pauses)) {
        bool marks_first =
            pause == n_pauses || (mark < n_marks && marks[mark].utc_ns < pauses[pause].utc_ns);
        if (marks_first) {
            add_line(&out, marks[mark].utc_ns, profile_text(p, marks[mark].text));
            mark++;
        } else {
            add_pause(&out, &pauses[pause++]);
        }
    }
    size_t left = n_marks + n_pauses - mark - pause;
    if (left)
        text_addf(&out, "%*sand %zu more\n", INDENT, "", left);
    terminal_block(out.s);
    text_release(&out);
}
