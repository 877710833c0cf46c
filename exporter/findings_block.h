/* The findings of a recording as JSON: an array, which the "wallspy" block takes as it is.  It is
 * written apart, because nothing of what explains may cost the file (cli/explanation.h). */
#pragma once

#include <stdio.h>

#include "summary/findings.h"

/* Returns 0 or a negative errno of the writes. */
int findings_block_write(const struct findings *f, FILE *out);
