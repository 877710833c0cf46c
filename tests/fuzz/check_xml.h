#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is TEXT a well-formed XML document of elements, attributes, text and CDATA sections, with the
 * five predefined entities alone?  Text may hold nothing a terminal would obey.
 * Source: Extensible Markup Language 1.0. */
bool is_xml(const char *text, size_t len);
