/* What removing a row's place could save at most.  Private to the ledger. */
#pragma once

#include "summary/ledger.h"

/* Sets bound_ns of L's rows, which are all there: of the leader's time, if the row's place, another
 * thread's, took none.  It may keep that thread busy also while the leader does not wait, and then
 * more is saved than ends there.  0: it cannot be told, as of a row that was not read to its end,
 * of a sleep or a spin, and where a thread of both waits for a CPU or the GIL: resources that
 * become free save more than their own time. */
void ledger_set_bounds(const struct groups *g, struct ledger *l);
