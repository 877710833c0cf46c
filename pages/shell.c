/* Parts of the completions for bash, zsh and fish. */
#include <string.h>

#include "exporter/exporter.h"
#include "pages/pages.h"

static const char *const kinds[] = {
    [VALUE_TEXT] = "text", [VALUE_PIDS] = "pids", [VALUE_FILE] = "file", [VALUE_FORMAT] = "words"};

/* The words that ROW's value may be, with spaces between; nothing: none is fixed. */
static void add_words(struct text *out, const struct option_row *row)
{
    const struct exporter *e = NULL;
    for (size_t i = 0; row->choices && row->choices[i]; i++)
        text_addf(out, "%s%s", i ? " " : "", row->choices[i]);
    for (size_t i = 0; row->kind == VALUE_FORMAT && (e = exporter_at(i)); i++) {
        text_addf(out, "%s%s", i ? " " : "", e->name);
        if (e->alias)
            text_addf(out, " %s", e->alias);
    }
}

/* S between single quotes of the shell: BEFORE is put before each letter of SPECIAL. */
static void add_quoted(struct text *out, const char *s, const char *special)
{
    for (; *s; s++) {
        if (*s == '\'')
            text_add(out, "'\\'");
        else if (strchr(special, *s))
            text_add(out, "\\");
        text_add_bytes(out, s, 1);
    }
}

/* The first words of ROW's help, which stand in a menu. */
static void add_brief(struct text *out, const struct option_row *row, const char *special)
{
    struct text help = {0};
    option_add_help(row, &help);
    size_t len = strcspn(help.s, ":;(");
    while (len && help.s[len - 1] == ' ')
        len--;
    text_truncate(&help, len);
    add_quoted(out, help.s, special);
    text_release(&help);
}

/* ---- bash ---- */

bool bash_add_options(const char *word, struct text *out)
{
    for (unsigned c = 0; c < COMMAND_COUNT; c++) {
        text_addf(out, "    %s) options='", command_rows[c].name);
        for (size_t i = 0; i < option_row_count; i++) {
            const struct option_row *row = &option_rows[i];
            if (!(row->commands & (1U << c)))
                continue;
            if (row->letter)
                text_addf(out, "-%c ", row->letter);
            text_addf(out, "--%s ", row->name);
        }
        text_add(out, "' ;;\n");
    }
    return !*word;
}

bool bash_add_values(const char *word, struct text *out)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        struct text words = {0};
        if (!row->value)
            continue;
        add_words(&words, row);
        text_add(out, "    ");
        if (row->letter)
            text_addf(out, "-%c | ", row->letter);
        text_addf(out, "--%s) kind='%s'", row->name, words.s ? "words" : kinds[row->kind]);
        text_addf(out, words.s ? " words='%s'" : "%.0s", words.s ? words.s : "");
        text_addf(out, "%s ;;\n", row->optional ? " optional='yes'" : "");
        text_release(&words);
    }
    return !*word;
}

bool bash_add_commands(const char *word, struct text *out)
{
    text_add(out, "_wallspy_commands='");
    for (unsigned c = 0; c < COMMAND_COUNT; c++)
        text_addf(out, "%s ", command_rows[c].name);
    text_add(out, "help'\n");
    return !*word;
}

/* ---- zsh ---- */

static const char zsh_special[] = "[]:\\";

/* ":VALUE:what completes it" */
static void add_zsh_value(struct text *out, const struct option_row *row)
{
    struct text words = {0};
    add_words(&words, row);
    text_addf(out, row->optional ? "::%s:" : ":%s:", row->value);
    if (words.s)
        text_addf(out, "(%s)", words.s);
    else if (row->kind == VALUE_PIDS)
        text_add(out, "_wallspy_pids");
    else if (row->kind == VALUE_FILE)
        text_add(out, "_files");
    else
        text_add(out, " ");
    text_release(&words);
}

/* One argument: NAME is how the option is written, SIGN how its value follows. */
static void add_zsh_option(struct text *out, const struct option_row *row, const char *name,
                           const char *sign, bool valued)
{
    bool many = row->kind == VALUE_PIDS || row->kind == VALUE_FILE;
    text_add(out, "        '");
    if (many)
        text_add(out, "*");
    else if (row->letter)
        text_addf(out, "(-%c --%s)", row->letter, row->name);
    text_addf(out, "%s%s[", name, valued ? sign : "");
    add_brief(out, row, zsh_special);
    text_add(out, "]");
    if (valued)
        add_zsh_value(out, row);
    text_add(out, "' \\\n");
}

bool zsh_add_options(const char *word, struct text *out)
{
    unsigned c = page_command(word);
    for (size_t i = 0; c < COMMAND_COUNT && i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (!(row->commands & (1U << c)))
            continue;
        const char letter[] = {'-', row->letter, '\0'};
        if (row->letter)
            add_zsh_option(out, row, letter, "+", row->value && !row->optional);
        struct text name = {0};
        text_addf(&name, "--%s", row->name);
        add_zsh_option(out, row, name.s, row->optional ? "=-" : "=", row->value != NULL);
        text_release(&name);
    }
    return c < COMMAND_COUNT;
}

bool zsh_add_commands(const char *word, struct text *out)
{
    for (unsigned c = 0; c < COMMAND_COUNT; c++) {
        text_addf(out, "        '%s:", command_rows[c].name);
        add_quoted(out, command_rows[c].summary, zsh_special);
        text_add(out, "'\n");
    }
    return !*word;
}

/* ---- fish ---- */

static const char fish_special[] = "\\";

static void add_fish_value(struct text *out, const struct option_row *row)
{
    struct text words = {0};
    add_words(&words, row);
    if (row->kind == VALUE_FILE)
        text_add(out, " -r -F");
    else
        text_add(out, row->optional ? " -f" : " -x");
    if (words.s)
        text_addf(out, " -a '%s'", words.s);
    else if (row->kind == VALUE_PIDS)
        text_add(out, " -a '(__wallspy_pids)'");
    text_release(&words);
}

static void add_fish_option(struct text *out, const struct option_row *row)
{
    text_add(out, "complete -c wallspy -n '__wallspy_in");
    for (unsigned c = 0; c < COMMAND_COUNT; c++)
        if (row->commands & (1U << c))
            text_addf(out, " %s", command_rows[c].name);
    text_add(out, "'");
    if (row->letter)
        text_addf(out, " -s %c", row->letter);
    text_addf(out, " -l %s", row->name);
    if (row->value)
        add_fish_value(out, row);
    text_add(out, " -d '");
    add_brief(out, row, fish_special);
    text_add(out, "'\n");
}

static void add_fish_launch(struct text *out)
{
    text_add(out, "complete -c wallspy -n __wallspy_launches -a '(__wallspy_launched");
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (!row->value || row->optional)
            continue;
        if (row->letter)
            text_addf(out, " -%c", row->letter);
        text_addf(out, " --%s", row->name);
    }
    text_add(out, ")'\n");
}

bool fish_add_commands(const char *word, struct text *out)
{
    for (unsigned c = 0; c < COMMAND_COUNT; c++) {
        text_addf(out, "complete -c wallspy -n __wallspy_first -a %s -d '", command_rows[c].name);
        add_quoted(out, command_rows[c].summary, fish_special);
        text_add(out, "'\n");
    }
    for (size_t i = 0; i < option_row_count; i++)
        add_fish_option(out, &option_rows[i]);
    add_fish_launch(out);
    return !*word;
}
