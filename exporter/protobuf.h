/* Writes protocol buffers: fields into a message that grows in memory.
 * Source: protobuf.dev/programming-guides/encoding. */
#pragma once

#include <stdint.h>

#include "base/text.h"

/* Each appends one field.  Zero is the default of a number: it is left out. */
void protobuf_number(struct text *message, uint32_t field, uint64_t value);
void protobuf_bytes(struct text *message, uint32_t field, const char *bytes, size_t len);
/* Appends PART as a field, and empties it. */
void protobuf_message(struct text *message, uint32_t field, struct text *part);
/* Appends one of the numbers of a packed field, which is a message of them. */
void protobuf_packed(struct text *numbers, uint64_t value);
