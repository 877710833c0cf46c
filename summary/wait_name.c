#include "summary/wait_name.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

enum { MAX_NAME = 64 };
struct letters {
    char s[MAX_NAME];
    size_t n;
    uint64_t begins; /* by letter: a word begins there */
};

/* The letters of NAME's last component, without what stands in brackets: a template's arguments,
 * "<locals>", "(anonymous namespace)".  A function's arguments end it. */
static struct letters take_letters(const char *name)
{
    struct letters ret = {.n = 0};
    unsigned depth = 0;
    bool begins = true;
    for (const char *at = name; *at && ret.n < MAX_NAME - 1; at++) {
        if (*at == '(' && ret.n && !depth)
            break;
        depth += *at == '<' || *at == '(';
        if (!depth && (*at == ':' || *at == '.'))
            ret = (struct letters){.n = 0};
        if (!depth && isalpha((unsigned char)*at)) {
            begins |= isupper((unsigned char)*at) || !ret.n;
            ret.begins |= (uint64_t)begins << ret.n;
            ret.s[ret.n++] = (char)tolower((unsigned char)*at);
        }
        begins = *at == '_';
        depth -= depth && (*at == '>' || *at == ')');
    }
    return ret;
}

static bool has_part(const struct letters *name, const char *part)
{
    size_t len = strcspn(part, "$");
    for (size_t i = 0; i + len <= name->n; i++) {
        bool other = *part == 'l' && i && strchr("bcn", name->s[i - 1]) && !(name->begins >> i & 1);
        if (!other && memcmp(name->s + i, part, len) == 0 && (!part[len] || i + len == name->n))
            return true;
    }
    return false;
}

bool wait_name_has(const char *name, const char *const *parts)
{
    const struct letters letters = take_letters(name);
    for (; *parts; parts++)
        if (has_part(&letters, *parts))
            return true;
    return false;
}
