/* `wallspy record`: attach or launch, sample, write, and print the answer. */
#pragma once

#include "cli/options.h"

int record_main(const struct options *o); /* returns the exit code */
