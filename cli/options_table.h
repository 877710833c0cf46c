/* The rows of options_table.c, for options.c (parsing) and options_help.c (printing) alone. */
#pragma once

#include "cli/options.h"

enum {
    FOR_RECORD = 1 << COMMAND_RECORD,
    FOR_DUMP = 1 << COMMAND_DUMP,
    FOR_STANDBY = 1 << COMMAND_STANDBY
};

struct option_row {
    char letter;       /* 0: none */
    bool optional;     /* the value may be left out, and is then given as --name=value only */
    unsigned commands; /* FOR_… */
    const char *name;  /* without the dashes */
    const char *value; /* its name in the help; NULL: takes none */
    const char *help;
    void (*add_list)(struct text *out); /* puts what stands for the '@' in HELP; NULL: no '@' */
    /* Puts VALUE (NULL: none given) into O; FIELD is the offset of the flag that set_flag sets. */
    int (*set)(struct options *o, const struct option_row *row, const char *value, struct err *err);
    size_t field;
};
enum { OPTION_ROW_PID = 0 };
extern const struct option_row option_rows[];
extern const size_t option_row_count;

struct command_row {
    const char *name;
    const char *operands; /* in the usage line */
    const char *summary;
};
extern const struct command_row command_rows[COMMAND_COUNT];
