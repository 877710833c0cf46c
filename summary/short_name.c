#include "summary/short_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool begins_with(const char *s, const char *end, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(end - s) >= len && memcmp(s, word, len) == 0;
}

/* How much of [S, END), which comes after OUT, stays as it is though it has brackets: the sign of
 * "operator()" and "operator<", Python's ".<lambda>". */
static size_t kept_length(const struct text *out, const char *s, const char *end)
{
    static const char sign[] = "operator";
    if (out->len && out->s[out->len - 1] == '.' && *s == '<') {
        const char *close = memchr(s, '>', (size_t)(end - s));
        return close ? (size_t)(close + 1 - s) : 0;
    }
    size_t sign_len = strlen(sign);
    if (out->len < sign_len || memcmp(out->s + out->len - sign_len, sign, sign_len) != 0)
        return 0;
    if (begins_with(s, end, "()"))
        return strlen("()");
    size_t len = strspn(s, "<>=-");
    return len < (size_t)(end - s) ? len : (size_t)(end - s);
}

/* Appends the part to keep of a text in brackets at S that is no simple argument list; returns its
 * length, 0: there is no such text.  A text that names no component goes with the separator behind
 * it; Go's "(*Pool).run" is "Pool.run". */
static size_t add_special(struct text *out, const char *s, const char *end)
{
    static const char *const nothing[] = {"(anonymous namespace)::", "<locals>.", "<unknown>::"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (begins_with(s, end, nothing[i]))
            return strlen(nothing[i]);
    size_t kept = kept_length(out, s, end);
    text_add_bytes(out, s, kept);
    const char *close = begins_with(s, end, "(*") ? memchr(s, ')', (size_t)(end - s)) : NULL;
    if (kept || !close)
        return kept;
    text_add_bytes(out, s + 2, (size_t)(close - s) - 2);
    return (size_t)(close + 1 - s);
}

/* Is the bracket at S none, but the sign of "->" or "=>"? */
static bool is_arrow(const char *s)
{
    return *s == '>' && strchr("-=", s[-1]);
}

/* Where the bracket at S is closed; NULL: it is not. */
static const char *closing(const char *s, const char *end)
{
    int depth = 0;
    for (const char *at = s; at < end; at++) {
        depth += *at == '<';
        depth -= *at == '>' && !is_arrow(at);
        if (!depth)
            return at;
    }
    return NULL;
}

/* Where " as ", outside of inner brackets, stands in [S, END); END: nowhere. */
static const char *find_as(const char *s, const char *end)
{
    for (; s < end; s++) {
        const char *close = *s == '<' ? closing(s, end) : NULL;
        if (close)
            s = close;
        else if (begins_with(s, end, " as "))
            break;
    }
    return s;
}

/* Is there more than a parameter's letter, as in "[A]" and "&T"? */
static bool tells(const char *s, const char *end)
{
    for (size_t n = 0; s < end; s++) {
        n = isalnum((unsigned char)*s) || *s == '_' ? n + 1 : 0;
        if (n > 1)
            return true;
    }
    return false;
}

/* The type of Rust's "<a::Map<K> as b::Extend>::extend", or the trait where the type is a
 * parameter.  Returns its length, and what follows; 0: S is no such name. */
static size_t type_of_method(const char *s, const char *end, const char **ret_type,
                             const char **ret_rest)
{
    const char *close = *s == '<' ? closing(s, end) : NULL;
    if (!close || !begins_with(close + 1, end, "::"))
        return 0;
    const char *type = s + 1;
    const char *type_end = find_as(type, close);
    if (!tells(type, type_end) && type_end < close) {
        type = type_end + strlen(" as ");
        type_end = close;
    }
    *ret_type = type;
    *ret_rest = close + 1;
    return (size_t)(type_end - type);
}

/* Drops "::", which came before arguments that are dropped. */
static void drop_separator(struct text *out)
{
    if (out->len > 2 && out->s[out->len - 1] == ':' && out->s[out->len - 2] == ':')
        text_truncate(out, out->len - 2);
}

/* What a C++ wrapper is given, "ns::f" of "checked<&ns::f>": that tells more than its own name.
 * Returns its length; 0: S is no such name. */
static size_t wrapped_function(const char *s, const char *end, const char **ret)
{
    const char *open = memchr(s, '<', (size_t)(end - s));
    if (!open || open == s || open[-1] == ':' || !begins_with(open, end, "<&") ||
        closing(open, end) != end - 1 || memchr(open, ',', (size_t)(end - open)))
        return 0;
    *ret = open + strlen("<&");
    return (size_t)(end - 1 - *ret);
}

/* Drops "<…>" and "(…)" of LEN bytes, but for what add_special() keeps and a name that is nothing
 * else. */
static void add_without_arguments(struct text *out, const char *s, size_t len)
{
    const char *end = s + len;
    size_t wrapped = wrapped_function(s, end, &s);
    end = wrapped ? s + wrapped : end;
    const char *type = NULL;
    size_t type_len = type_of_method(s, end, &type, &s);
    int depth = 0;
    if (type_len && *type != '<')
        add_without_arguments(out, type, type_len);
    else if (type_len)
        text_add_bytes(out, type, type_len);
    for (const char *at = s; at < end;) {
        size_t special = depth ? 0 : add_special(out, at, end);
        at += special;
        if (special)
            continue;
        bool opens = (*at == '<' || *at == '(') && at > s;
        if (opens && !depth && *at == '<')
            drop_separator(out);
        bool closes = depth > 0 && (*at == ')' || (*at == '>' && !is_arrow(at)));
        depth += opens;
        if (!depth)
            text_add_bytes(out, at, 1);
        depth -= closes;
        at++;
    }
    drop_separator(out);
}

/* Where the last N components of S begin, which are split at "::" or "."; offsets into modules and
 * names of files have dots of their own. */
static size_t last_components(const char *s, size_t len, size_t n)
{
    bool dots = !strstr(s, "+0x") && !strstr(s, ".so");
    for (size_t i = len; i-- > 1;) {
        bool colons = i > 1 && s[i - 1] == ':' && s[i - 2] == ':';
        bool dot = dots && s[i - 1] == '.' && s[i] != '.';
        if ((colons || dot) && n-- == 1)
            return i;
    }
    return 0;
}

static bool fits(const struct text *t, size_t columns)
{
    return utf8_columns(t->s, t->len) <= columns;
}

/* The part before the "…": "[read 64 files: " or "[read " of a text in brackets. */
static size_t kept_head(const char *s, size_t columns)
{
    enum { LEAST_REST = 4, LEAST_PATH = 10 };
    const char *colon = strstr(s, "files: ");
    const char *space = strchr(s, ' ');
    if (*s != '[' || !space)
        return 0;
    size_t head = colon ? (size_t)(colon - s) + strlen("files: ") : 0;
    if (head && head + LEAST_PATH < columns)
        return head;
    head = (size_t)(space - s) + 1;
    return head + LEAST_REST <= columns ? head : 0;
}

/* "…end of it", or of what is in brackets "[read …end]". */
static void add_end(struct text *out, const char *s, size_t columns)
{
    size_t head = kept_head(s, columns);
    text_add_bytes(out, s, head);
    text_add(out, "…");
    const char *rest = s + head;
    size_t len = strlen(rest);
    size_t room = columns - head - 1;
    size_t whole = utf8_columns(rest, len);
    size_t dropped = utf8_cut(rest, len, whole > room ? whole - room : 0);
    text_add_bytes(out, rest + dropped, len - dropped);
}

/* NAME is LEN bytes, PLACE what follows, " file:line" or "". */
static bool try_shorter(struct text *out, const char *name, size_t len, const char *place,
                        size_t columns)
{
    struct text plain = {0};
    add_without_arguments(&plain, name, len);
    bool ok = false;
    for (size_t n = 16; n && !ok && plain.len; n--) {
        text_clear(out);
        text_add(out, plain.s + last_components(plain.s, plain.len, n));
        text_add(out, place);
        ok = fits(out, columns);
    }
    text_release(&plain);
    return ok;
}

void short_name_add(struct text *out, const char *name, size_t columns)
{
    struct text shorter = {0};
    const char *space = strrchr(name, ' ');
    bool placed = *name != '[' && space && strchr(space, ':') && !strstr(space, "::");
    size_t len = placed ? (size_t)(space - name) : strlen(name);
    text_add(&shorter, name);
    bool ok = fits(&shorter, columns);
    if (!ok && *name != '[')
        ok = try_shorter(&shorter, name, len, placed ? space : "", columns) ||
             try_shorter(&shorter, name, len, "", columns);
    if (ok)
        text_add(out, shorter.s);
    else
        add_end(out, *name == '[' ? name : shorter.s ? shorter.s : name, columns);
    text_release(&shorter);
}

static void add_cut_label(struct text *out, const char *label, size_t head, size_t tid,
                          size_t columns)
{
    struct text name = {0};
    size_t len = strlen(label);
    size_t room = columns > head + tid + 1 ? columns - head - tid : 0;
    if (!room) {
        head = tid = 0;
        room = columns;
    }
    char *whole = xasprintf("%.*s", (int)(len - head - tid), label + head);
    text_add_bytes(out, label, head);
    if (try_shorter(&name, whole, strlen(whole), "", room))
        text_add(out, name.s);
    else
        text_add_cut(out, name.s ? name.s : whole, strlen(name.s ? name.s : whole), room);
    text_add(out, label + len - tid);
    free(whole);
    text_release(&name);
}

void short_label_add(struct text *out, const char *label, const struct label_shape *shape,
                     size_t columns)
{
    const char *brief = shape->brief;
    if (utf8_columns(label, strlen(label)) <= columns)
        text_add(out, label);
    else if (!brief)
        add_cut_label(out, label, shape->head, shape->tail, columns);
    else if (utf8_columns(brief, strlen(brief)) <= columns)
        text_add(out, brief);
    else
        add_cut_label(out, brief, 0, 0, columns);
}
