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
/* What a finding is for its reader. */
enum finding_kind {
    FINDING_EXPLAINS,  /* why time is lost */
    FINDING_BEHIND,    /* likewise, but it may be the price of what others say */
    FINDING_DESCRIBES, /* where time is spent: one of them, for a group with nothing else */
    FINDING_SLEEPS,    /* likewise: asleep, which keeps nobody */
    FINDING_RESTS,     /* that they have nothing to do, which keeps nobody: beside others */
    FINDING_VERDICT,   /* nothing goes on */
};
/* Those of a higher level come first, and of one level those that explain more. */
enum finding_level {
    LEVEL_OTHERS,    /* what somebody does, for whom nobody waits */
    LEVEL_RESTS,     /* that the leader sleeps, or has nothing to do */
    LEVEL_ELSEWHERE, /* why somebody else loses time, or the leader less than a tenth of it */
    LEVEL_PLACES,    /* where the leader spends its time; why it loses a little */
    LEVEL_BEHIND,
    LEVEL_EXPLAINS, /* why it loses its time */
    LEVEL_VERDICT,
};
struct finding {
    const char *rule;   /* its key: "waits_meanwhile" */
    const char *about;  /* the group's noun, until the groups are released; NULL: all */
    const char *blames; /* the noun of the group that another one waits for; NULL: nobody's */
    const char *also;   /* the noun of another group in the words; NULL: none */
    const char *like; /* the noun of those that ABOUT is like, but for what F says; NULL: nobody */
    enum finding_kind kind;
    bool aside;      /* no news about a group that another finding is about */
    unsigned causes; /* 1 << enum cause: of which rows of the ledger it speaks */
    /* Of its group's time that it speaks of; of everybody's, if ABOUT is NULL.  1 where that cannot
     * be measured: of stalls and standstills. */
    double share;
    /* ranking.c's: where it comes among the others, and of 1 how much it explains there. */
    enum finding_level level;
    double explains;
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
