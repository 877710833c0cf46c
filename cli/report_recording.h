/* wallspy report of a recording: its closing answer, as record printed it. */
#pragma once

#include "cli/options.h"

/* Prints what the recording PATH says to stdout.  Returns an exit code. */
int report_recording(const struct options *o, const char *path);
/* The same of a speedscope file that wallspy wrote, as far as that holds the recording. */
int report_speedscope(const struct options *o, const char *path);
