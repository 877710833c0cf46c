/* The words of findings that no rule makes alone.  Private to findings.c. */
#pragma once

#include "summary/rules.h"

/* Adds F's group, which goes to nobody else. */
void others_add(struct finding_others *others, const struct finding *f);
/* Makes OTHERS those of F. */
void others_set(struct finding *f, struct finding_others *others);
void others_release(struct finding_others *others);
/* Adds to F's words: " rank1 (38%), rank2 (37%) and 2 others wait for a CPU, too."  ALIKE: "wait%s
 * for a CPU" */
void tell_others(struct finding *f, const char *alike);
/* Adds to F, the first sentence, what the ledger knows beside it: the end of a chain of waits, what
 * can be saved at most. */
void tell_what_ends(const struct findings *all, struct finding *f);
/* Findings for where no rule applies. */
struct finding tell_too_short(const struct judgement *s);
struct finding tell_nothing(const struct judgement *s, const struct ledger *l);
/* Where nobody is what the user asked for with --leader: said first. */
void tell_no_leader(struct findings *f, const struct groups *g);
