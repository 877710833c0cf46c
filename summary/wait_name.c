#include "summary/wait_name.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

static bool has_part(const char *letters, const char *part)
{
    size_t len = strcspn(part, "$");
    for (size_t i = 0; letters[i]; i++) {
        bool other = *part == 'l' && i && strchr("bcn", letters[i - 1]);
        if (!other && strncmp(letters + i, part, len) == 0 && (!part[len] || !letters[i + len]))
            return true;
    }
    return false;
}

bool wait_name_has(const char *name, const char *const *parts)
{
    enum { MAX_NAME = 64 };
    char letters[MAX_NAME];
    size_t n = 0;
    for (const char *at = name; *at && *at != '(' && *at != '<' && n < sizeof letters - 1; at++) {
        if (*at == ':' || *at == '.')
            n = 0;
        else if (isalpha((unsigned char)*at))
            letters[n++] = (char)tolower((unsigned char)*at);
    }
    letters[n] = '\0';
    for (; *parts; parts++)
        if (has_part(letters, *parts))
            return true;
    return false;
}
