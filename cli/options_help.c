/* The help, printed from the tables. */
#include "cli/options_table.h"

#include <stdio.h>
#include <string.h>

enum { HELP_WIDTH = 79, HELP_COLUMN = 26 };

void options_usage(struct text *out)
{
    text_add(out, "usage: wallspy [record] -p PID... [-o FILE] [options]\n"
                  "       wallspy [record] [-o FILE] [options] [--] CMD ARGS...\n"
                  "       wallspy dump -p PID... [--json]\n"
                  "       wallspy standby [--] CMD ARGS...\n"
                  "examples (all options: wallspy --help, wallspy dump --help):\n"
                  "  wallspy -p 1234 -o out.json          where does 1234 spend its time?\n"
                  "  wallspy -d 30 python3 train.py       launch it, look for 30 seconds\n"
                  "  wallspy dump -p 1234                 what is it doing right now?\n");
}

static void add_help(const struct option_row *row, struct text *out)
{
    struct text help = {0};
    const char *at = row->add_list ? strchr(row->help, '@') : NULL;
    if (at) {
        text_add_bytes(&help, row->help, (size_t)(at - row->help));
        row->add_list(&help);
    }
    text_add(&help, at ? at + 1 : row->help);
    text_add_wrapped(out, help.s, HELP_COLUMN, HELP_COLUMN, HELP_WIDTH);
    text_release(&help);
}

static void add_row(const struct option_row *row, struct text *out)
{
    char head[64];
    char letter[8] = "    ";
    if (row->letter)
        (void)snprintf(letter, sizeof letter, "-%c, ", row->letter);
    const char *value = row->value ? row->value : "";
    int n = snprintf(head, sizeof head, "  %s--%s%s%s%s", letter, row->name,
                     row->optional ? "[="
                     : row->value  ? " "
                                   : "",
                     value, row->optional ? "]" : "");
    text_add(out, head);
    if (n + 2 > HELP_COLUMN) {
        text_add(out, "\n");
        n = 0;
    }
    text_addf(out, "%*s", HELP_COLUMN - n, "");
    add_help(row, out);
    text_add(out, "\n");
}

void options_help(enum command command, struct text *out)
{
    if (command == COMMAND_RECORD)
        options_usage(out);
    else
        text_addf(out, "usage: wallspy %s [options] %s\n", command_rows[command].name,
                  command_rows[command].operands);
    text_add(out, "\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        if (command != COMMAND_RECORD && command != i)
            continue;
        text_addf(out, "%-10s", command_rows[i].name);
        text_add_wrapped(out, command_rows[i].summary, 10, 10, HELP_WIDTH);
        text_add(out, "\n");
    }
    text_addf(out, "\noptions of %s (they end at the first operand):\n",
              command_rows[command].name);
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].commands & (1U << command))
            add_row(&option_rows[i], out);
    if (command == COMMAND_RECORD)
        text_add(out, "\nexit codes: 0 ok, 1 failed, 2 usage, 3 not permitted, 4 no such process,\n"
                      "5 unsupported target, 6 no sample; launched: the command's own\n");
}
