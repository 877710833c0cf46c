#include "cli/units.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { MAX_SECONDS = 10 * 366 * 24 * 3600 };
static const double max_bytes = 1e18;

static const struct {
    const char *suffix;
    double seconds;
} units[] = {{"ms", 1e-3}, {"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};

/* Digits, perhaps a point and more digits.  Returns what follows, NULL if it is no such number. */
static const char *parse_decimal(const char *s, double *ret)
{
    uint64_t whole = 0;
    s = parse_u64(s, s + strlen(s), 10, &whole);
    if (!s)
        return NULL;
    double value = (double)whole;
    double place = 1;
    if (*s == '.') {
        for (s++; *s >= '0' && *s <= '9'; s++) {
            place /= 10;
            value += place * (*s - '0');
        }
    }
    *ret = value;
    return s;
}

int parse_duration(const char *s, int64_t *ret_ns)
{
    double value = 0;
    const char *suffix = parse_decimal(s, &value);
    if (!suffix)
        return -EINVAL;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!str_eq(suffix, units[i].suffix))
            continue;
        double seconds = value * units[i].seconds;
        int64_t ns = seconds <= MAX_SECONDS ? (int64_t)(seconds * NS_PER_S + 0.5) : 0;
        if (ns <= 0)
            return -EINVAL;
        *ret_ns = ns;
        return 0;
    }
    return -EINVAL;
}

int parse_percent(const char *s, double *ret_share)
{
    double percent = 0;
    const char *rest = parse_decimal(s, &percent);
    if (!rest || !(str_eq(rest, "") || str_eq(rest, "%")) || percent <= 0 || percent > 100)
        return -EINVAL;
    *ret_share = percent / 100;
    return 0;
}

int parse_size(const char *s, uint64_t *ret_bytes)
{
    static const char letters[] = "kmgt";
    double value = 0;
    const char *unit = parse_decimal(s, &value);
    if (!unit)
        return -EINVAL;
    const char *letter = *unit ? strchr(letters, *unit | ' ') : NULL; /* | ' ': as a small letter */
    if (letter) {
        for (const char *l = letters; l <= letter; l++)
            value *= 1024;
        unit++;
    }
    bool known = str_eq(unit, "") || str_eq(unit, "B") || (letter && str_eq(unit, "iB"));
    if (!known || value < 1 || value > max_bytes)
        return -EINVAL;
    *ret_bytes = (uint64_t)value;
    return 0;
}
