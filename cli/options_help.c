/* The help, printed from the tables. */
#include "cli/options_table.h"

#include <stdio.h>

#include "cli/pyspy_args.h"

enum { HELP_WIDTH = 79, HELP_COLUMN = 26, COMMAND_COLUMN = 18 };

/* "usage: wallspy ..." for the commands from FIRST to LAST. */
static void add_usage(unsigned first, unsigned last, struct text *out)
{
    const char *word = "usage:";
    for (unsigned c = first; c <= last; c++) {
        const char *const *usage = command_rows[c].usage;
        for (unsigned i = 0; i < MAX_USAGE_LINES && usage[i]; i++) {
            text_addf(out, "%-6s wallspy %s\n", word, usage[i]);
            word = "";
        }
    }
}

void options_usage(struct text *out)
{
    add_usage(0, COMMAND_STANDBY, out);
    text_add(out, "examples (options: wallspy --help; what stops wallspy here: wallspy doctor):\n"
                  "  wallspy -p 1234 -o out.json          where does 1234 spend its time?\n"
                  "  wallspy -d 30 python3 train.py       launch it, look for 30 seconds\n"
                  "  wallspy dump -p 1234                 what is it doing right now?\n");
}

static void add_help(const struct option_row *row, struct text *out)
{
    struct text help = {0};
    option_add_help(row, &help);
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

static void add_options(enum command command, struct text *out)
{
    unsigned mask = 1U << command;
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (!(row->commands & mask))
            continue;
        const char *section = option_section(row, mask);
        if (section)
            text_addf(out, "\n%s:\n", section);
        add_row(row, out);
    }
}

static void add_commands(struct text *out)
{
    text_add(out, "\ncommands (record is implied; wallspy help dump has the options of dump):\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        text_addf(out, "  %-*s", COMMAND_COLUMN - 2, command_rows[i].name);
        text_add_wrapped(out, command_rows[i].summary, COMMAND_COLUMN, COMMAND_COLUMN, HELP_WIDTH);
        text_add(out, "\n");
    }
}

void options_help(enum command command, struct text *out)
{
    if (command == COMMAND_RECORD) {
        options_usage(out);
        add_commands(out);
    } else {
        add_usage(command, command, out);
        text_addf(out, "\n%s\n", command_rows[command].summary);
    }
    if (command == COMMAND_PY_SPY) {
        pyspy_add_help(out);
        return;
    }
    bool launches = command == COMMAND_RECORD || command == COMMAND_STANDBY;
    text_addf(out, "\noptions of %s%s:\n", command_rows[command].name,
              launches ? " (they stand before CMD)" : "");
    add_options(command, out);
    if (command == COMMAND_RECORD)
        text_add(out, "\nexit codes: 0 ok, 1 failed, 2 usage, 3 not permitted, 4 no such process,\n"
                      "5 unsupported target, 6 no sample; launched: the command's own\n");
}
