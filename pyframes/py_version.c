#include "pyframes/py_version.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* "alpha" to "final": bits 4 to 7 of PY_VERSION_HEX.  Source: Include/patchlevel.h. */
static const char *release_suffix(uint64_t level)
{
    switch (level) {
    case 0xa:
        return "a";
    case 0xb:
        return "b";
    case 0xc:
        return "rc";
    case 0xf:
        return "";
    default:
        return NULL;
    }
}

bool py_version_from_hex(uint64_t hex, struct py_version *ret)
{
    const char *suffix = release_suffix((hex >> 4) & 0xf);
    if (hex >> 24 != 3 || !suffix)
        return false;
    struct py_version v = {.minor = (uint32_t)(hex >> 16) & 0xff};
    unsigned micro = (unsigned)(hex >> 8) & 0xff, serial = (unsigned)hex & 0xf;
    if (*suffix)
        (void)snprintf(v.text, sizeof v.text, "3.%u.%u%s%u", v.minor, micro, suffix, serial);
    else
        (void)snprintf(v.text, sizeof v.text, "3.%u.%u", v.minor, micro);
    *ret = v;
    return true;
}

/* A number of at most three digits; what follows it, or NULL. */
static const char *parse_small(const char *s, const char *end, uint32_t *ret)
{
    uint64_t value;
    s = parse_u64(s, end, 10, &value);
    if (!s || value > 999)
        return NULL;
    *ret = (uint32_t)value;
    return s;
}

bool py_version_from_name(const char *name, struct py_version *ret)
{
    const char *end = name + strlen(name);
    const char *s = str_starts(name, "lib") ? name + 3 : name;
    struct py_version v = {0};
    if (!str_starts(s, "python3.") || !parse_small(s + strlen("python3."), end, &v.minor))
        return false;
    (void)snprintf(v.text, sizeof v.text, "3.%u", v.minor);
    *ret = v;
    return true;
}

/* Is S, of LEN characters, a version such as 3.8.18, 3.9.0rc2 or 3.10.13+? */
static bool is_version(const char *s, size_t len, uint32_t minor, struct py_version *ret)
{
    enum { OLDEST_WITHOUT_SYMBOL = PY_OLDEST_MINOR, NEWEST_WITHOUT_SYMBOL = 10 };
    const char *end = s + len;
    struct py_version v = {0};
    uint32_t micro;
    if (len >= sizeof v.text || len < strlen("3.6.0") || memcmp(s, "3.", 2) != 0)
        return false;
    const char *at = parse_small(s + 2, end, &v.minor);
    if (!at || at == end || *at != '.' || !(at = parse_small(at + 1, end, &micro)))
        return false;
    if (at != end && !strchr("abr+", *at))
        return false;
    bool wanted = minor ? v.minor == minor
                        : v.minor >= OLDEST_WITHOUT_SYMBOL && v.minor <= NEWEST_WITHOUT_SYMBOL;
    if (!wanted)
        return false;
    memcpy(v.text, s, len);
    *ret = v;
    return true;
}

bool py_version_from_strings(const char *bytes, size_t len, uint32_t minor, struct py_version *ret)
{
    const char *end = bytes + len;
    for (const char *s = bytes; s < end;) {
        const char *nul = memchr(s, '\0', (size_t)(end - s));
        if (!nul)
            return false;
        if (is_version(s, (size_t)(nul - s), minor, ret))
            return true;
        s = nul + 1;
    }
    return false;
}

const char *py_unsupported_name(const char *name)
{
    static const struct {
        const char *prefix, *name;
    } known[] = {
        {"libpython2.", "CPython 2"}, {"python2.", "CPython 2"},
        {"libpypy", "PyPy"},          {"pypy", "PyPy"},
        {"libpythonvm", "GraalPy"},
    };
    static const char *const old[] = {"CPython 3.0", "CPython 3.1", "CPython 3.2",
                                      "CPython 3.3", "CPython 3.4", "CPython 3.5"};
    struct py_version v;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_starts(name, known[i].prefix))
            return known[i].name;
    if (py_version_from_name(name, &v) && v.minor < PY_OLDEST_MINOR)
        return old[v.minor];
    return NULL;
}
