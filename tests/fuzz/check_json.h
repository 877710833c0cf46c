#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is TEXT one JSON value, well-formed to the letter of RFC 8259, and UTF-8?  Strings may hold
 * nothing a terminal would obey. */
bool is_json(const char *text, size_t len);
