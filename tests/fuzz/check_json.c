#include "tests/fuzz/check_json.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

enum { MAX_DEPTH = 64 };

struct reader {
    const char *s, *end;
    int depth;
};

static bool value(struct reader *r);

static void skip_space(struct reader *r)
{
    while (r->s < r->end && strchr(" \n\r\t", *r->s) && *r->s)
        r->s++;
}

static bool take(struct reader *r, const char *word)
{
    return take_word(&r->s, r->end, word);
}

static size_t digits(struct reader *r, const char *set)
{
    const char *start = r->s;
    while (r->s < r->end && *r->s && strchr(set, *r->s))
        r->s++;
    return (size_t)(r->s - start);
}

static bool escape(struct reader *r)
{
    if (take(r, "u")) {
        struct reader four = {r->s, r->end - r->s > 4 ? r->s + 4 : r->end, 0};
        r->s += 4;
        return digits(&four, "0123456789abcdefABCDEF") == 4;
    }
    return digits(r, "\"\\/bfnrt") > 0;
}

static bool string(struct reader *r)
{
    if (!take(r, "\""))
        return false;
    while (r->s < r->end && *r->s != '"') {
        unsigned char c = (unsigned char)*r->s++;
        if (c < 0x20)
            return false;
        if (c == '\\') {
            struct reader one = {r->s, r->s < r->end && *r->s != 'u' ? r->s + 1 : r->end, 0};
            if (!escape(&one))
                return false;
            r->s = one.s;
        }
    }
    return take(r, "\"");
}

static bool number(struct reader *r)
{
    static const char ten[] = "0123456789";
    (void)take(r, "-");
    if (!take(r, "0") && !digits(r, ten))
        return false;
    if (take(r, ".") && !digits(r, ten))
        return false;
    if (take(r, "e") || take(r, "E")) {
        if (!take(r, "+"))
            (void)take(r, "-");
        return digits(r, ten) > 0;
    }
    return true;
}

static bool member(struct reader *r, bool is_object)
{
    skip_space(r);
    if (is_object) {
        if (!string(r))
            return false;
        skip_space(r);
        if (!take(r, ":"))
            return false;
    }
    return value(r);
}

static bool members(struct reader *r, const char *end, bool is_object)
{
    skip_space(r);
    if (take(r, end))
        return true;
    do {
        if (!member(r, is_object))
            return false;
        skip_space(r);
    } while (take(r, ","));
    return take(r, end);
}

static bool value(struct reader *r)
{
    bool ok;
    skip_space(r);
    if (r->s == r->end || r->depth == MAX_DEPTH)
        return false;
    r->depth++;
    if (take(r, "{"))
        ok = members(r, "}", true);
    else if (take(r, "["))
        ok = members(r, "]", false);
    else if (*r->s == '"')
        ok = string(r);
    else
        ok = take(r, "true") || take(r, "false") || take(r, "null") || number(r);
    r->depth--;
    return ok;
}

bool is_json(const char *text, size_t len)
{
    struct reader r = {text, text + len, 0};
    if (!is_plain_text(text, len) || !value(&r))
        return false;
    skip_space(&r);
    return r.s == r.end;
}
