/* What a running recording may be asked, one line each (docs/ctl.md).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    CTL_LINE_BYTES = 4096, /* of a request, with the end of its line */
};
/* The lines that end an answer: CTL_OK alone, or CTL_ERROR and what is wrong. */
#define CTL_OK    "ok"
#define CTL_ERROR "error: "

enum ctl_verb {
    CTL_STATUS,
    CTL_SNAPSHOT,
    CTL_MARK,
    CTL_PAUSE,
    CTL_RESUME,
    CTL_STOP,
    CTL_TARGETS, /* the ids of the processes, one a line; so the next one, not for users */
    CTL_BRIEF,   /* one line for a list of recordings */
    CTL_VERBS
};
struct ctl_request {
    enum ctl_verb verb;
    bool json;        /* of CTL_STATUS */
    const char *text; /* of CTL_MARK: within the line */
};

/* The word that asks for VERB. */
const char *ctl_word(enum ctl_verb verb);
/* Reads LINE, LEN bytes without the end of the line, and ends its text with a NUL at LINE[LEN].
 * Returns NULL, or what is wrong with it. */
const char *ctl_request_parse(struct ctl_request *ret, char *line, size_t len);
