/* What V8 (node, Deno, Chromium) calls code in perf's map.  Source: V8 src/logging/log.cc, class
 * PerfBasicLogger, and src/objects/code-kind.cc, CodeKindToMarker(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct v8_name {
    struct text function; /* "(anonymous)" where it has no name */
    struct text file;
    uint32_t line; /* on which the function begins */
};
/* The parts of "JS:*price /app/shop.js:2:15".  False: NAME is none of V8's, or of its own modules
 * ("node:internal/timers"), and RET is empty.  To be released either way. */
bool v8_name_parse(const char *name, struct v8_name *ret);
void v8_name_release(struct v8_name *name);
