/* A recording that the user names, as report and export read it. */
#pragma once

#include "base/err.h"
#include "profile/profile.h"
#include "summary/view.h"

/* The profile of PATH, or of the file that is to become it, where there is none.  Says on stderr if
 * it is not whole, and until when it reaches; how far that can be trusted is measured by VIEW.
 * NULL with ERR, one line. */
struct profile *recording_input_read(const char *path, const struct view_options *view,
                                     struct err *err);
