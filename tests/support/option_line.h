/* Command lines as tests write them: "-p|1234", split at each bar. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "tests/support/check_main.h"

/* Reads LINE as PROGRAM's arguments.  O holds until the next call. */
static inline enum options_result parse_option_line(struct options *o, const char *program,
                                                    const char *line, struct err *err)
{
    enum { MAX_WORDS = 32 };
    static char buf[512];
    static char *argv[MAX_WORDS];
    int argc = 0;
    argv[argc++] = (char *)program;
    (void)snprintf(buf, sizeof buf, "%s", line);
    for (char *s = buf; s && *line;) {
        argv[argc++] = strsep(&s, "|");
        ck_assert_int_lt(argc, MAX_WORDS);
    }
    argv[argc] = NULL;
    *err = (struct err){0};
    return options_parse(o, argc, argv, err);
}
