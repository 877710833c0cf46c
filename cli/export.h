/* wallspy export: a recording in another format, the same bytes as record would have written. */
#pragma once

#include "cli/options.h"

int export_main(const struct options *o); /* returns an exit code */
