/* Files with more rows of what is known of others' code (docs/known.md). */
#pragma once

#include "cli/options.h"

/* Adds the rows of the file at PATH to those of O's view.  Returns 0, or the errno of a file that
 * cannot be read, -EINVAL for one that is none, is larger than 1 MB or has a bad row, with ERR. */
int known_file_add(struct options *o, const char *path, struct err *err);
/* The same of $XDG_CONFIG_HOME/wallspy/known.def, or ~/.config/wallspy/known.def, if it is
 * there. */
int known_file_add_usual(struct options *o, struct err *err);
