/* usage: make_page TEMPLATE
 * Prints TEMPLATE with its lines "@PART WORD@" replaced by what pages.h makes of the tables of
 * options, commands, formats and metrics: the man pages and completions of a build. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pages/pages.h"

static const struct part {
    const char *name;
    bool (*add)(const char *word, struct text *out);
} parts[] = {
    {"man-title", man_add_title},         {"man-name", man_add_name},
    {"man-synopsis", man_add_synopsis},   {"man-options", man_add_options},
    {"man-quality", man_add_quality},     {"bash-options", bash_add_options},
    {"bash-values", bash_add_values},     {"bash-commands", bash_add_commands},
    {"zsh-options", zsh_add_options},     {"zsh-commands", zsh_add_commands},
    {"fish-commands", fish_add_commands},
};

/* LINE, of which the '@' at both ends are gone, is "PART WORD" or "PART". */
static bool add_part(char *line, struct text *out)
{
    const char *name = strsep(&line, " ");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (str_eq(parts[i].name, name))
            return parts[i].add(line ? line : "", out);
    return false;
}

static bool add_line(char *line, struct text *out)
{
    size_t len = strlen(line);
    if (len < 4 || line[0] != '@' || !str_eq(line + len - 2, "@\n")) {
        text_add(out, line);
        return true;
    }
    line[len - 2] = '\0';
    return add_part(line + 1, out);
}

/* Returns the number of the first line that cannot be made; 0: all are made. */
static unsigned add_page(FILE *template, struct text *out)
{
    char *line = NULL;
    size_t capacity = 0;
    unsigned number = 0;
    bool made = true;
    while (made && getline(&line, &capacity, template) > 0) {
        number++;
        made = add_line(line, out);
    }
    free(line);
    return made ? 0 : number;
}

int main(int argc, char **argv)
{
    FILE *template = argc == 2 ? fopen(argv[1], "re") : NULL;
    if (!template) {
        (void)fprintf(stderr, "usage: make_page TEMPLATE\n");
        return EXIT_FAILURE;
    }
    struct text page = {0};
    unsigned bad = add_page(template, &page);
    (void)fclose(template);
    if (bad)
        (void)fprintf(stderr, "%s:%u: there is no such part or word\n", argv[1], bad);
    bool printed = !bad && page.len && fputs(page.s, stdout) >= 0 && fflush(stdout) == 0;
    text_release(&page);
    return printed ? EXIT_SUCCESS : EXIT_FAILURE;
}
