#include "summary/wait_name.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { MAX_NAME = 64 };
struct letters {
    char s[MAX_NAME];
    size_t n;
    uint64_t begins; /* by letter: a word begins there */
};

static void add_letter(struct letters *name, char letter, bool begins)
{
    begins |= isupper((unsigned char)letter) || !name->n;
    name->begins |= (uint64_t)begins << name->n;
    name->s[name->n++] = (char)tolower((unsigned char)letter);
}

/* The letters of NAME's last component, without what stands in brackets: a template's arguments,
 * "<locals>", "(anonymous namespace)".  A function's arguments end it. */
static struct letters take_letters(const char *name)
{
    struct letters ret = {.n = 0};
    unsigned depth = 0;
    bool begins = true;
    for (const char *at = name; *at && ret.n < MAX_NAME - 1; at++) {
        bool outside = depth == 0;
        if (*at == '(' && ret.n && outside)
            break;
        if (strchr("<(", *at))
            depth++;
        else if (strchr(">)", *at))
            depth -= depth > 0;
        else if (outside && strchr(":.", *at))
            ret = (struct letters){.n = 0};
        else if (outside && isalpha((unsigned char)*at))
            add_letter(&ret, *at, begins);
        begins = *at == '_';
    }
    return ret;
}

static bool is_border(const struct letters *name, size_t i)
{
    return i == name->n || name->begins >> i & 1;
}

static bool has_part(const struct letters *name, const char *part)
{
    bool begins = *part == '_';
    part += begins;
    size_t len = strcspn(part, "_$");
    for (size_t i = 0; i + len <= name->n; i++) {
        bool other = *part == 'l' && i && strchr("bcn", name->s[i - 1]) && !is_border(name, i);
        bool ends =
            !part[len] || i + len == name->n || (part[len] == '_' && is_border(name, i + len));
        if (!other && ends && (!begins || is_border(name, i)) &&
            memcmp(name->s + i, part, len) == 0)
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
