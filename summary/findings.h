/* The result of a recording in at most three sentences: the culprit first, each with its figures.
 *
 * A finding is one rule: a row in findings.c, a function in a rules_*.c, and a pair of programs in
 * tests/situations/: one in which it must be found, and a twin in which it must not. */
#pragma once

#include "base/text.h"
#include "summary/ledger.h"

enum { MAX_FINDINGS = 3, MAX_FIGURES = 10 };
struct figure {
    const char *name; /* snake_case; a literal */
    double value;     /* shares of 1, seconds, counts */
};
struct finding {
    const char *rule;   /* its key: "waits_meanwhile" */
    const char *about;  /* the group's noun, until the groups are released; NULL: all */
    const char *blames; /* the noun of the group that another one waits for; NULL: nobody's */
    const char *also;   /* the noun of another group in the words; NULL: none */
    bool rests;         /* it says that they have nothing to do: they keep nobody */
    double weight;      /* how much of the time it explains; larger ones come first */
    struct figure figures[MAX_FIGURES];
    size_t n_figures;
    const struct ledger_row *row; /* the heaviest that it speaks of; NULL: none */
    int64_t ends_ns;              /* of the leader's time that end in what it speaks of */
    char *words; /* one paragraph, nothing in it an order to a terminal; NULL: it does not apply */
};
struct findings {
    struct finding *items; /* one a rule, also of those that do not apply: for -v */
    size_t n;
    /* Of ITEMS those to print, in this order. */
    const struct finding *printed[MAX_FINDINGS];
    size_t n_printed;
    struct ledger ledger; /* borrows the groups */
};
/* Judges G, which is borrowed until findings_release(). */
void findings_init(struct findings *f, const struct groups *g);
void findings_release(struct findings *f);
/* Appends the sentences, paragraphs of at most WIDTH columns, indented by two spaces; then an empty
 * line.  Nothing if there is none. */
void findings_write(const struct findings *f, int width, struct text *out);
