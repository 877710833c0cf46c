/* wallspy report: what files say that were made before. */
#pragma once

#include "cli/options.h"

/* Prints what the files of O say.  Returns an exit code (cli/exit_codes.h). */
int report_command_main(const struct options *o);
