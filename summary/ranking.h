/* Which findings are printed, and in what order: those first that explain most of the time of those
 * whom the user waits for.  The ledger has that time; no finding has a weight of its own. */
#pragma once

#include "summary/findings.h"

/* Sets where F's time ends in L, of G, and F's rank by that. */
void ranking_set(struct finding *f, const struct groups *g, const struct ledger *l);
/* Does A come before B?  False, too, where that is about the same. */
bool ranking_is_before(const struct finding *a, const struct finding *b);
/* Chooses those of F's items that are printed, which have ranks. */
void ranking_choose(struct findings *f);
