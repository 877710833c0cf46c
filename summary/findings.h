/* The result of a recording in at most three sentences: the culprit first, each with its figures.
 *
 * A finding is one rule: a row in findings.c, a judge and a teller in a rules_*.c, and a pair of
 * programs in tests/situations/: one in which it must be found, and a twin in which it must not.
 * All rules judge, the ranking chooses, and words are made last. */
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
    FINDING_EXPLAINS,  /* it says why time is lost */
    FINDING_BEHIND,    /* it says so of what may be the price of what others say */
    FINDING_DESCRIBES, /* it says where time is spent: one is printed, of a group with no other */
    FINDING_SLEEPS,    /* it describes a sleep, which keeps nobody */
    FINDING_RESTS,     /* it says that they have nothing to do: that is printed beside others */
    FINDING_VERDICT,   /* it says that nothing goes on */
};
/* Those of a higher level come first, and of one level those that explain more. */
enum finding_level {
    LEVEL_OTHERS,    /* what somebody does, for whom nobody waits */
    LEVEL_RESTS,     /* that the leader sleeps, or has nothing to do */
    LEVEL_ELSEWHERE, /* why somebody else loses time, or the leader less than a tenth of it */
    LEVEL_PLACES,    /* where the leader spends its time; why it loses a little */
    LEVEL_BEHIND,    /* why it loses its time, as the price of something else, it may be */
    LEVEL_EXPLAINS,  /* why it loses its time */
    LEVEL_VERDICT,   /* that nothing of it goes on */
};
/* Whom a finding is true of, too: the first few of them. */
enum { MOST_ALIKE = 2 };
struct finding_others {
    struct finding_other {
        char *noun; /* owned */
        bool plural;
        double share;      /* the rule's figure; below 0: it has none */
        const char *about; /* its group's noun */
    } items[MOST_ALIKE];
    size_t n; /* with those behind the first few */
};
struct finding {
    const char *rule; /* its key: "waits_meanwhile" */
    bool applies;
    struct thread_group *group; /* that was judged; NULL: all */
    struct thread_group *one;   /* the same, of one thread and F's own; NULL: it is of G */
    void *facts;                /* what the rule's words tell; NULL: nothing else */
    struct finding_others others;
    /* Nouns of groups, not copies, until those are released: they are told apart by address. */
    const char *about;  /* NULL: all */
    const char *blames; /* whom ABOUT waits for; NULL: nobody is known */
    const char *also;   /* another one in the words; NULL: none */
    const char *like;   /* those that ABOUT is like, but for what the words say; NULL: nobody */
    enum finding_kind kind;
    bool of_cpu;        /* SHARE is of CPU time, not of anybody's own time */
    double of_leader;   /* of its time: what F takes, if the ledger knows less of it */
    bool counted;       /* SHARE is the kernel's count: work that it does for them */
    bool aside;         /* no news about a group that another finding is about */
    bool for_leaders;   /* no news about whom the leader loses no time by */
    const char *unless; /* the key of a rule whose finding about the group leaves no news; NULL */
    unsigned causes;    /* 1 << enum cause: of which rows of the ledger it speaks */
    /* Of its group's time that it speaks of; of everybody's, if ABOUT is NULL.  1 where that cannot
     * be measured: of stalls and standstills. */
    double share;
    double told_share; /* the part of SHARE whose cause it tells; 0: all of it */
    /* ranking.c's: where it comes among the others, and of 1 how much it explains there. */
    enum finding_level level;
    double explains;
    struct figure figures[MAX_FIGURES];
    size_t n_figures;
    const struct ledger_row *row; /* the heaviest that it speaks of; NULL: none */
    int64_t ends_ns;              /* of the leader's time that end in what it speaks of */
    char *words; /* one paragraph, nothing in it an order to a terminal; NULL until all is chosen,
                    and where it does not apply */
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
