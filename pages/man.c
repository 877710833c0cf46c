/* Parts of man pages, in the macros of man(7). */
#include <string.h>

#include "pages/pages.h"
#include "profile/metric_info.h"

enum { SOURCE_WIDTH = 79 };

/* The escape of a letter that roff reads as a command or as another letter: with it the letter
 * itself is on the screen, and is copied. */
static const char *escape(char c)
{
    switch (c) {
    case '\\':
        return "\\e";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '`':
        return "\\(ga";
    case '"':
        return "\\(dq";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    default:
        return NULL;
    }
}

static void add_escaped(struct text *out, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const char *escaped = escape(s[i]);
        /* A line that begins with a full stop is a request, and a word may begin a line. */
        if (s[i] == '.' && (i == 0 || s[i - 1] == ' '))
            text_add(out, "\\&");
        if (escaped)
            text_add(out, escaped);
        else
            text_add_bytes(out, &s[i], 1);
    }
}

static void add_styled(struct text *out, char font, const char *s, size_t len)
{
    text_addf(out, "\\f%c", font);
    add_escaped(out, s, len);
    text_add(out, "\\fR");
}

/* Running text.  Words between '`' are bold, as in Markdown. */
static void add_text(struct text *out, const char *s)
{
    struct text roff = {0};
    for (bool bold = false; *s; bold = !bold) {
        size_t len = strcspn(s, "`");
        if (bold)
            add_styled(&roff, 'B', s, len);
        else
            add_escaped(&roff, s, len);
        s += len + (s[len] == '`');
    }
    text_add_wrapped(out, roff.s, 0, 0, SOURCE_WIDTH);
    text_add(out, "\n");
    text_release(&roff);
}

/* "-o, --output FILE" */
static void add_tag(struct text *out, const struct option_row *row)
{
    text_add(out, ".TP\n");
    if (row->letter)
        text_addf(out, "\\fB\\-%c\\fR, ", row->letter);
    text_add(out, "\\fB\\-\\-");
    add_escaped(out, row->name, strlen(row->name));
    text_add(out, "\\fR");
    if (row->value) {
        text_add(out, row->optional ? "[=" : " ");
        add_styled(out, 'I', row->value, strlen(row->value));
        text_add(out, row->optional ? "]" : "");
    }
    text_add(out, "\n");
}

static void add_option(struct text *out, const struct option_row *row)
{
    struct text help = {0};
    option_add_help(row, &help);
    text_add(&help, ".");
    add_tag(out, row);
    add_text(out, help.s);
    text_release(&help);
}

/* The words of a usage line: what is typed is bold, what is replaced is italic. */
static void add_usage(struct text *out, const char *s)
{
    static const char letters[] = "-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (; *s; s += strspn(s, letters)) {
        size_t len = strcspn(s, letters);
        add_escaped(out, s, len);
        s += len;
        len = strspn(s, letters);
        bool replaced = (*s >= 'A' && *s <= 'Z') || strncmp(s, "options", len) == 0;
        if (len)
            add_styled(out, replaced ? 'I' : 'B', s, len);
    }
    text_add(out, "\n");
}

bool man_add_title(const char *word, struct text *out)
{
    /* No hyphens in words, no gaps between them: what is to be typed stands there as it is. */
    text_add(out,
             ".\\\" Made from a template in pages/ and the tables of wallspy.\n.nr HY 0\n.TH ");
    add_escaped(out, word, strlen(word));
    text_add(out, " 1 \"" RELEASE_DATE "\" \"wallspy " WALLSPY_VERSION "\" \"User Commands\"\n"
                  ".ad l\n");
    return true;
}

bool man_add_name(const char *word, struct text *out)
{
    unsigned c = page_command(word);
    if (c == COMMAND_COUNT)
        return false;
    struct text line = {0};
    text_addf(&line, "wallspy%s%s - %s", c == COMMAND_RECORD ? "" : "-",
              c == COMMAND_RECORD ? "" : command_rows[c].name, command_rows[c].summary);
    add_text(out, line.s);
    text_release(&line);
    return true;
}

bool man_add_synopsis(const char *word, struct text *out)
{
    unsigned c = page_command(word);
    if (c == COMMAND_COUNT)
        return false;
    for (unsigned i = 0; i < MAX_USAGE_LINES && command_rows[c].usage[i]; i++) {
        text_add(out, i ? ".br\n" : "");
        text_add(out, "\\fBwallspy\\fR ");
        add_usage(out, command_rows[c].usage[i]);
    }
    return true;
}

bool man_add_options(const char *word, struct text *out)
{
    unsigned c = page_command(word);
    if (c == COMMAND_COUNT)
        return false;
    for (size_t i = 0; i < option_row_count; i++) {
        if (!(option_rows[i].commands & (1U << c)))
            continue;
        const char *section = option_section(&option_rows[i], 1U << c);
        if (section)
            text_addf(out, ".SS %s\n", section);
        add_option(out, &option_rows[i]);
    }
    return true;
}

static enum metric_effect effect_of(const char *word)
{
    static const char *const words[] = {
        [EFFECT_LOSS] = "loss", [EFFECT_DOUBT] = "doubt", [EFFECT_NOTE] = "note"};
    for (unsigned i = EFFECT_LOSS; i <= EFFECT_NOTE; i++)
        if (str_eq(words[i], word))
            return (enum metric_effect)i;
    return EFFECT_NONE;
}

bool man_add_quality(const char *word, struct text *out)
{
    enum metric_effect effect = effect_of(word);
    if (effect == EFFECT_NONE)
        return false;
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        if (metric_info(m)->effect != effect)
            continue;
        struct text words = {0};
        metric_add_words(&words, m);
        text_add(out, ".TP\n");
        add_styled(out, 'B', words.s, words.len);
        text_add(out, "\n");
        add_text(out, metric_info(m)->meaning);
        text_release(&words);
    }
    return true;
}
