/* wallspy where py-spy was asked for (docs/py-spy.md).  cli/pyspy_args.h reads its command line. */
#pragma once

#include "cli/options.h"

/* The line of --version: programs look at its first word and number. */
extern const char pyspy_version[];
/* What to exit with where wallspy would with CODE: the same, unless O is py-spy's command line and
 * launches nothing.  Says in py-spy's words that it is not permitted to attach: programs look for
 * them. */
int pyspy_exit_code(const struct options *o, int code);
/* `wallspy install-py-spy DIR` */
int pyspy_install_main(const struct options *o);
