/* Text in XML.  Source: Extensible Markup Language 1.0, 2.2 and 2.4. */
#pragma once

#include "base/text.h"

/* Appends the first COLUMNS characters of S for people to read, with "…" where it is cut: fit for
 * an element's text and for an attribute's value, and for a terminal (text_add_tame()).  Characters
 * that XML does not allow become '?'. */
void xml_add(struct text *out, const char *s, size_t columns);
