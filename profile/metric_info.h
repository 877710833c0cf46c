/* The catalogue of metrics: the key of each in the file and in --stats, its unit, its effect on the
 * quality of the recording, and the words for users.  The quality line, --stats, the file and
 * docs/quality.md come from this table alone. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "profile/metrics.h"

enum metric_unit {
    UNIT_COUNT,
    UNIT_SHARE, /* 1 is all; --stats shows percent */
    UNIT_HZ,
    UNIT_NS,
    UNIT_S,
};

/* The meaning of a value above 0 for the recording. */
enum metric_effect {
    EFFECT_NONE,
    EFFECT_LOSS,  /* something is missing */
    EFFECT_DOUBT, /* something may be wrong, or the target may have noticed */
    EFFECT_NOTE,  /* something was given up that leaves all sums as they are */
};

struct metric_info {
    const char *key; /* snake_case */
    enum metric_unit unit;
    enum metric_effect effect;
    enum metric part_of;
    bool part_apart;     /* PART_OF does not include it: the whole is the sum of both */
    enum metric shown;   /* NOTE: the number to show; NONE: this one */
    const char *noun;    /* LOSS, DOUBT: the counted thing, in the singular; NULL: none is */
    const char *words;   /* LOSS, DOUBT: follows the noun.  NOTE: see metric_add_note() */
    const char *section; /* not NULL: a section of docs/quality.md begins here, with this title */
    const char *meaning; /* sentences, in Markdown */
};

/* Can VALUE, which somebody wrote into a file, be a value of M's unit? */
bool metric_may_be(enum metric m, double value);
const struct metric_info *metric_info(enum metric m); /* METRIC_NONE is not allowed */
/* Appends the quality line's words for metric M, with N and M for its numbers: "N of M samples
 * late", "rate lowered to N Hz"; nothing if it has none. */
void metric_add_words(struct text *out, enum metric m);
/* The words of note M with N for its number: a format for one double, or %t for seconds. */
void metric_add_note(struct text *out, enum metric m, double n);
const char *metric_unit_text(enum metric_unit unit); /* "%", "Hz", "ns", "s"; "" for a count */
