/* wallspy report of dumps: what the ranks of a job do, and which is elsewhere (docs/fleet.md). */
#pragma once

#include <stdio.h>

#include "cli/options.h"
#include "fleet/headline.h"

/* Reads the dumps that O names, and prints the report to stdout.  Returns EXIT_OK if there is a
 * process in them, else EXIT_NO_SAMPLE, or EXIT_FAILED if none could be opened or the report cannot
 * be written. */
int fleet_report_main(const struct options *o);

/* Appends the report for people, lines of at most WIDTH columns. */
void fleet_text_add(const struct fleet *f, const struct verdict *v, size_t width, struct text *out);
/* Appends the same in twelve lines at most, of TERMINAL_TEXT_WIDTH: for --brief. */
void fleet_text_add_brief(const struct fleet *f, const struct verdict *v, struct text *out);
/* Writes the schema report/1 (docs/fleet.md).  Returns 0 or a negative errno. */
int fleet_json(const struct fleet *f, const struct verdict *v, FILE *out);
