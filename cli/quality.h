/* How far a recording can be trusted: one line at its end, and the same in its file. */
#pragma once

#include "base/text.h"
#include "profile/profile.h"
#include "summary/view.h"

/* Sets the metric "seen_share" and, where the samples and the kernel's counts disagree, the text
 * "self_check".  Call it when frames have their names, before the file is written. */
void quality_measure(struct profile *p, const struct view_options *view);
/* Prints the line: "quality ok", or each loss and doubt.  Returns whether every sample is whole. */
bool quality_report(const struct profile *p);
/* The line's text, for tests.  Returns as quality_report() does. */
bool quality_text(const struct profile *p, struct text *out);
