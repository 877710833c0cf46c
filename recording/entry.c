#include "recording/entry.h"

#include <string.h>

#include "base/bytes.h"

const char *entry_dooms(uint32_t kind)
{
    static const char *const columns[TABLE_KINDS] = {
        [TABLE_LOCATION] = "frame",      [TABLE_CHILD] = "of",
        [TABLE_THREAD] = "id",           [TABLE_COUNT] = "thread",
        [TABLE_RECENT_COUNT] = "thread", [TABLE_RECENT] = "thread",
        [TABLE_RUN] = "thread"};
    return kind < TABLE_KINDS ? columns[kind] : NULL;
}

/* ---- making one ---- */

static void add_u32(struct text *out, uint32_t value)
{
    text_add_bytes(out, (const char *)&value, sizeof value);
}

static void add_typed(struct text *out, enum entry_type type, const void *bytes, size_t len)
{
    text_add_bytes(out, &(const char){(char)type}, 1);
    text_add_bytes(out, bytes, len);
}

size_t entry_begin(struct text *out, enum entry_kind kind)
{
    size_t begun = out->len;
    const char head[] = {(char)kind, 0};
    add_u32(out, 0);
    text_add_bytes(out, head, sizeof head);
    return begun;
}

void entry_end(struct text *out, size_t begun, size_t n_values)
{
    uint32_t len = (uint32_t)(out->len - begun - ENTRY_HEAD_BYTES);
    memcpy(out->s + begun, &len, sizeof len);
    out->s[begun + ENTRY_HEAD_BYTES + 1] = (char)n_values;
}

void entry_add_null(struct text *out)
{
    add_typed(out, ENTRY_NULL, NULL, 0);
}

void entry_add_number(struct text *out, int64_t value)
{
    if (value >= 0 && value <= UINT8_MAX)
        add_typed(out, ENTRY_BYTE, &(uint8_t){(uint8_t)value}, 1);
    else
        add_typed(out, ENTRY_NUMBER, &value, sizeof value);
}

void entry_add_real(struct text *out, double value)
{
    add_typed(out, ENTRY_REAL, &value, sizeof value);
}

void entry_add_string(struct text *out, const char *s)
{
    enum { MOST = ENTRY_MOST_BYTES / 4 }; /* several of them fit into one entry */
    uint32_t len = (uint32_t)strnlen(s, MOST);
    add_typed(out, ENTRY_STRING, &len, sizeof len);
    text_add_bytes(out, s, len);
}

/* ---- taking one ---- */

static const size_t fixed_bytes[ENTRY_TYPES] = {[ENTRY_NULL] = 0,
                                                [ENTRY_BYTE] = 1,
                                                [ENTRY_NUMBER] = sizeof(int64_t),
                                                [ENTRY_REAL] = sizeof(double),
                                                [ENTRY_STRING] = sizeof(uint32_t)};

/* The bytes of the value at S, of which LEN are there; 0: it is none. */
static size_t value_bytes(const char *s, size_t len)
{
    size_t type = len ? (unsigned char)*s : ENTRY_TYPES;
    if (type >= ENTRY_TYPES || len - 1 < fixed_bytes[type])
        return 0;
    size_t whole = 1 + fixed_bytes[type] + (type == ENTRY_STRING ? get_u32(s + 1) : 0);
    return whole <= len ? whole : 0;
}

ssize_t entry_parse(struct entry *ret, const char *bytes, size_t len)
{
    if (len < ENTRY_HEAD_BYTES)
        return 0;
    size_t rest = get_u32(bytes);
    if (rest < 2 || rest > ENTRY_MOST_BYTES)
        return -1;
    if (rest > len - ENTRY_HEAD_BYTES)
        return 0;
    const char *head = bytes + ENTRY_HEAD_BYTES;
    *ret = (struct entry){.kind = (unsigned char)head[0],
                          .n = (unsigned char)head[1],
                          .next = head + 2,
                          .end = head + rest};
    if (ret->kind >= ENTRY_KINDS || ret->n > ENTRY_MOST_VALUES)
        return -1;
    const char *at = ret->next;
    for (size_t i = 0; i < ret->n; i++) {
        size_t value = value_bytes(at, (size_t)(ret->end - at));
        if (!value)
            return -1;
        at += value;
    }
    return at == ret->end ? (ssize_t)(ENTRY_HEAD_BYTES + rest) : -1;
}

/* entry_parse() has seen that all values are whole. */
bool entry_next(struct entry *e, struct entry_value *ret)
{
    *ret = (struct entry_value){.type = ENTRY_NULL};
    if (!e->n)
        return false;
    const char *at = e->next + 1;
    ret->type = (unsigned char)*e->next;
    e->n--;
    e->next = at + fixed_bytes[ret->type];
    switch (ret->type) {
    case ENTRY_BYTE:
        ret->type = ENTRY_NUMBER;
        ret->number = (unsigned char)*at;
        break;
    case ENTRY_NUMBER:
        ret->number = (int64_t)get_u64(at);
        break;
    case ENTRY_REAL:
        memcpy(&ret->real, at, sizeof ret->real);
        break;
    case ENTRY_STRING:
        ret->len = get_u32(at);
        ret->s = e->next;
        e->next += ret->len;
        break;
    case ENTRY_NULL:
    case ENTRY_TYPES:
        break;
    }
    return true;
}
