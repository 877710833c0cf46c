/* What removing a row's place could save at most.  Private to the ledger. */
#pragma once

#include "summary/ledger.h"

/* Of the time of the leader of L, whose sums are all there, if the place of ROW, another
 * thread's, took none: it may keep that thread busy also while the leader does not wait, and then
 * more is saved than ends there.  0: it cannot be told, as of a row that was not read to its end,
 * of a sleep or a spin, and where a thread of both waits for a CPU or the GIL: resources that
 * become free save more than their own time. */
int64_t ledger_bound(const struct groups *g, const struct ledger *l, const struct ledger_row *row);
