#include "exporter/protobuf.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static void add_varint(struct text *out, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    text_add_bytes(out, bytes, n);
}

void protobuf_number(struct text *message, uint32_t field, uint64_t value)
{
    if (!value)
        return;
    add_varint(message, (uint64_t)field << 3 | WIRE_VARINT);
    add_varint(message, value);
}

void protobuf_bytes(struct text *message, uint32_t field, const char *bytes, size_t len)
{
    add_varint(message, (uint64_t)field << 3 | WIRE_BYTES);
    add_varint(message, len);
    text_add_bytes(message, bytes, len);
}

void protobuf_message(struct text *message, uint32_t field, struct text *part)
{
    protobuf_bytes(message, field, part->s ? part->s : "", part->len);
    text_clear(part);
}

void protobuf_packed(struct text *numbers, uint64_t value)
{
    add_varint(numbers, value);
}
