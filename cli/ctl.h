/* `wallspy ctl`: asks running recordings. */
#pragma once

#include "cli/options.h"

int ctl_main(const struct options *o); /* returns the exit code */
