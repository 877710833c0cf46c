/* wallspy report RECORDING --json: schema report/1, kind "recording" (docs/recording.md). */
#pragma once

#include "cli/options.h"
#include "cli/window.h"
#include "summary/findings.h"

enum { REPORT_JSON_MOST = 100 }; /* items of a list; behind it, how many were left out */
struct report_json {
    const struct options *o;
    const struct profile *p;
    const struct window *window;
    bool speedscope; /* P is of such a file, which holds less */
};
/* Appends one object, with the threads, functions and waits that R's options leave, and F's
 * findings.  Returns 0 or a negative errno. */
int report_json_add(struct text *out, const struct report_json *r, const struct groups *g,
                    const struct findings *f);
