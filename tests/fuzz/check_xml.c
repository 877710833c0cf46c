#include "tests/fuzz/check_xml.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

enum { MAX_DEPTH = 16 };
static const char name_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:_";

struct element {
    const char *name;
    size_t len;
};
struct reader {
    const char *s, *end;
    struct element open[MAX_DEPTH];
    int depth;
};

static bool take(struct reader *r, const char *word)
{
    return take_word(&r->s, r->end, word);
}

/* Goes behind the next WORD. */
static bool pass(struct reader *r, const char *word)
{
    const char *at = memmem(r->s, (size_t)(r->end - r->s), word, strlen(word));
    if (at)
        r->s = at + strlen(word);
    return at != NULL;
}

static struct element name(struct reader *r)
{
    struct element e = {r->s, 0};
    while (r->s < r->end && *r->s && strchr(name_letters, *r->s))
        r->s++;
    e.len = (size_t)(r->s - e.name);
    return e;
}

/* Text up to one of the letters of ENDS. */
static bool text(struct reader *r, const char *ends)
{
    static const char *const entities[] = {"lt;", "gt;", "amp;", "quot;", "apos;"};
    while (r->s < r->end && *r->s && !strchr(ends, *r->s)) {
        bool known = *r->s != '&';
        if (*r->s == '<' || (*r->s == '\xef' && r->end - r->s > 2 &&
                             (take(r, "\xef\xbf\xbe") || take(r, "\xef\xbf\xbf"))))
            return false;
        r->s++;
        for (size_t i = 0; i < sizeof entities / sizeof *entities && !known; i++)
            known = take(r, entities[i]);
        if (!known)
            return false;
    }
    return true;
}

static bool attributes(struct reader *r)
{
    while (take(r, " "))
        if (!name(r).len || !take(r, "=\"") || !text(r, "\"") || !take(r, "\""))
            return false;
    return true;
}

/* What follows a '<'. */
static bool tag(struct reader *r)
{
    if (take(r, "![CDATA["))
        return r->depth && pass(r, "]]>");
    bool closes = take(r, "/");
    struct element e = name(r);
    if (closes) {
        const struct element *last = r->depth ? &r->open[--r->depth] : NULL;
        return last && last->len == e.len && memcmp(last->name, e.name, e.len) == 0 && take(r, ">");
    }
    if (!e.len || !attributes(r))
        return false;
    if (take(r, "/>"))
        return true;
    if (r->depth == MAX_DEPTH)
        return false;
    r->open[r->depth++] = e;
    return take(r, ">");
}

bool is_xml(const char *text_bytes, size_t len)
{
    struct reader r = {.s = text_bytes, .end = text_bytes + len};
    if (!is_plain_text(text_bytes, len) || !take(&r, "<?xml ") || !pass(&r, "?>\n"))
        return false;
    do {
        if (!take(&r, "<") || !tag(&r) || (r.depth && !text(&r, "<")))
            return false;
    } while (r.depth);
    return take(&r, "\n") && r.s == r.end;
}
