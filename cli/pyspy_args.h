/* py-spy's command line, put into wallspy's own words (docs/py-spy.md).  Pure. */
#pragma once

#include "cli/options.h"

/* Puts ARGV, what stands behind the word py-spy, NULL at the end, into RET: its command, whether
 * whole file names are wanted, and TRANSLATED, the words of wallspy's own command line with a NULL
 * behind them, which options_parse() reads next.  Texts in it are RET's.  Returns OPTIONS_RUN,
 * OPTIONS_HELP, OPTIONS_VERSION, or OPTIONS_BAD with ERR: py-spy has no such option either, or
 * wallspy has nothing that does the same. */
enum options_result pyspy_translate(struct options *ret, char *const *argv, struct err *err);
/* The options, each with what it is to wallspy. */
void pyspy_add_help(struct text *out);
