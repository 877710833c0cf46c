#include "exporter/xml.h"

#include <string.h>

/* U+FFFE and U+FFFF, the only well-formed characters above the controls that XML forbids. */
static bool is_forbidden(const char *s, size_t left)
{
    return left >= 3 && memcmp(s, "\xef\xbf", 2) == 0 && (unsigned char)s[2] >= 0xbe;
}

static void escape(struct text *out, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '<')
            text_add(out, "&lt;");
        else if (s[i] == '>')
            text_add(out, "&gt;");
        else if (s[i] == '&')
            text_add(out, "&amp;");
        else if (s[i] == '"')
            text_add(out, "&quot;");
        else if (is_forbidden(s + i, len - i))
            i += 2, text_add(out, "?");
        else
            text_add_bytes(out, s + i, 1);
    }
}

void xml_add(struct text *out, const char *s, size_t columns)
{
    struct text cut = {0};
    text_add_tame_cut(&cut, s, columns);
    escape(out, cut.s, cut.len);
    text_release(&cut);
}
