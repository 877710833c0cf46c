#include "pyframes/py_version.h"

#include <ctype.h>
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

/* Reads a number of at most three digits.  Returns what follows it; NULL: there is none. */
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

bool py_is_interpreter_name(const char *name)
{
    return str_starts(name, "python") || str_starts(name, "libpython");
}

/* Does [S, END) begin with a version such as 3.8.18, 3.9.0rc2 or 3.10.13+, followed by " (" or, in
 * Conda's, " |"? */
static bool is_version(const char *s, const char *end, uint32_t minor, struct py_version *ret)
{
    struct py_version v = {0};
    uint32_t micro;
    const char *at = parse_small(s + strlen("3."), end, &v.minor);
    if (!at || at == end || *at != '.' || !(at = parse_small(at + 1, end, &micro)))
        return false;
    static const char suffix[] = "abrc+0123456789";
    while (at < end && memchr(suffix, *at, sizeof suffix - 1))
        at++;
    size_t len = (size_t)(at - s);
    if (len >= sizeof v.text || end - at < 2 || at[0] != ' ' || (at[1] != '(' && at[1] != '|'))
        return false;
    if (minor ? v.minor != minor : !py_layout_of(v.minor)) /* later ones say it elsewhere */
        return false;
    memcpy(v.text, s, len);
    *ret = v;
    return true;
}

bool py_version_from_variables(const char *bytes, size_t len, uint32_t minor,
                               struct py_version *ret)
{
    enum { ARRAY_ALIGNMENT = 16 }; /* psABI 3.1.2: of arrays of 16 bytes or more */
    for (size_t i = 0; i + ARRAY_ALIGNMENT <= len; i += ARRAY_ALIGNMENT)
        if (memcmp(bytes + i, "3.", 2) == 0 && is_version(bytes + i, bytes + len, minor, ret))
            return true;
    return false;
}

/* GraalPy in a JVM maps no runtime of its own, but the native half of its posix module:
 * …/lib/graalpy25.0/libposix.so. */
static bool in_graalpy_home(const char *path)
{
    static const char folder[] = "/lib/graalpy";
    const char *at = strstr(path, folder);
    return at && isdigit((unsigned char)at[sizeof folder - 1]);
}

const char *py_unsupported_name(const char *path)
{
    static const struct {
        const char *prefix, *name;
    } known[] = {
        {"libpython2.", "CPython 2"}, {"python2.", "CPython 2"},
        {"libpypy", "PyPy"},          {"pypy", "PyPy"},
        {"libpythonvm", "GraalPy"},   {"graalpy", "GraalPy"},
    };
    static const char *const old[] = {"CPython 3.0", "CPython 3.1", "CPython 3.2",
                                      "CPython 3.3", "CPython 3.4", "CPython 3.5"};
    const char *name = path_base(path);
    struct py_version v;
    if (in_graalpy_home(path))
        return "GraalPy";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_starts(name, known[i].prefix))
            return known[i].name;
    if (py_version_from_name(name, &v) && v.minor < PY_OLDEST_MINOR)
        return old[v.minor];
    return NULL;
}
