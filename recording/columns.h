/* Fields of the profile's structs as columns of a recording. */
#pragma once

#include <sqlite3.h>

#include "base/text.h"
#include "profile/fields.h"

/* Appends the field F of ITEM as a value of an entry (recording/entry.h); a word by its number if
 * NUMBERED. */
void column_add(struct text *entry, const struct field *f, const struct profile *p,
                const void *item, bool numbered);
/* Sets the field F of ITEM to column INDEX (0…) of S.  NULL is what the field has.  Returns NULL,
 * or what is wrong with the value. */
const char *column_read(sqlite3_stmt *s, int index, const struct field *f, struct profile *p,
                        void *item, bool numbered);
