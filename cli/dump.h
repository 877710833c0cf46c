/* `wallspy dump`: the stacks of all threads, once. */
#pragma once

#include "cli/options.h"

int dump_main(const struct options *o); /* returns the exit code */
