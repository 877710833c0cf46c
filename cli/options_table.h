/* The rows of options_table.c: for options.c (parsing), options_help.c (printing), and pages/ (man
 * pages, completions) alone. */
#pragma once

#include "cli/options.h"

enum {
    FOR_RECORD = 1 << COMMAND_RECORD,
    FOR_DUMP = 1 << COMMAND_DUMP,
    FOR_STANDBY = 1 << COMMAND_STANDBY,
    FOR_DOCTOR = 1 << COMMAND_DOCTOR,
    FOR_REPORT = 1 << COMMAND_REPORT,
    FOR_EXPORT = 1 << COMMAND_EXPORT,
    FOR_CTL = 1 << COMMAND_CTL,
    FOR_INSTALL_PY_SPY = 1 << COMMAND_INSTALL_PY_SPY
};

/* The kind of a value's words; shells complete them. */
enum option_value { VALUE_TEXT, VALUE_PIDS, VALUE_FILE, VALUE_FORMAT };

struct option_row {
    const char *section; /* not NULL: the help begins a section of this title here */
    char letter;         /* 0: none */
    bool optional;       /* the value may be left out, and is then given as --name=value only */
    unsigned commands;   /* FOR_… */
    const char *name;    /* without the dashes */
    const char *value;   /* its name in the help; NULL: takes none */
    enum option_value kind;
    const char *const *choices; /* words that VALUE may be, NULL at the end; NULL: none is fixed */
    const char *help;
    void (*add_list)(struct text *out); /* puts what stands for the '@' in HELP; NULL: no '@' */
    /* Puts VALUE (NULL: none given) into O; FIELD is the offset of the flag that set_flag sets. */
    int (*set)(struct options *o, const struct option_row *row, const char *value, struct err *err);
    size_t field;
};
enum { OPTION_ROW_PID = 0 };
extern const struct option_row option_rows[];
extern const size_t option_row_count;

/* The title that the help of a command (FOR_…) has before ROW, one of its options; NULL: none, as
 * before the first one. */
const char *option_section(const struct option_row *row, unsigned command);
/* Appends the help of ROW, with the list that belongs into it. */
void option_add_help(const struct option_row *row, struct text *out);

enum { MAX_USAGE_LINES = 2 };
struct command_row {
    const char *name;
    const char *usage[MAX_USAGE_LINES]; /* the words behind "wallspy"; NULL: no second line */
    const char *summary;
};
extern const struct command_row command_rows[COMMAND_COUNT];
