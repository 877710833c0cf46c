/* How each JSON document of wallspy begins. */
#pragma once

#include "exporter/json.h"

/* Begins an object: SCHEMA ("dump/1"), wallspy's version, the host, the time.  The caller adds more
 * keys, and ends it. */
void json_head(struct json *j, const char *schema);
