/* What a profile means, as the file has it. */
#pragma once

#include "profile/profile.h"
#include "summary/view.h"

/* The findings of what VIEW shows of P: an array of exporter/findings_block.h, which the caller
 * frees; NULL if they cannot be written. */
char *findings_json(const struct profile *p, const struct view_options *view);
