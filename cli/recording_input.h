/* A recording that the user names, as report and export read it. */
#pragma once

#include "base/err.h"
#include "cli/options.h"
#include "profile/profile.h"

/* The profile of PATH, or of the file that is to become it, where there is none.  Says on stderr if
 * it is not whole, and until when it reaches; how far that can be trusted is measured by O's view.
 * Its order in time is as fine as the file has it for the part that O asks for.  NULL with ERR, one
 * line. */
struct profile *recording_input_read(const char *path, const struct options *o, struct err *err);
