#include "cli/units.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

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

/* Also of no time. */
static int parse_span(const char *s, int64_t *ret_ns)
{
    double value = 0;
    const char *suffix = parse_decimal(s, &value);
    if (!suffix)
        return -EINVAL;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!str_eq(suffix, units[i].suffix))
            continue;
        double seconds = value * units[i].seconds;
        if (seconds > MAX_SECONDS)
            return -EINVAL;
        *ret_ns = (int64_t)(seconds * NS_PER_S + 0.5);
        return 0;
    }
    return -EINVAL;
}

int parse_duration(const char *s, int64_t *ret_ns)
{
    int64_t ns = 0;
    if (parse_span(s, &ns) < 0 || ns <= 0)
        return -EINVAL;
    *ret_ns = ns;
    return 0;
}

/* N digits, of a number of at most MOST, then SEPARATOR (0: nothing).  NULL: they are not there. */
static const char *parse_digits(const char *s, size_t n, uint64_t most, char separator, int *ret)
{
    uint64_t value = 0;
    const char *end = parse_u64(s, s + strnlen(s, n), 10, &value);
    if (end != s + n || value > most || (separator && *end != separator))
        return NULL;
    *ret = (int)value;
    return end + (separator != '\0');
}

/* "09:00:36.7" or "09:00", with a Z or without. */
static int parse_time_of_day(const char *s, int64_t *ret_ns)
{
    int hours = 0;
    int minutes = 0;
    double seconds = 0;
    s = parse_digits(s, 2, 23, ':', &hours);
    s = s ? parse_digits(s, 2, 59, '\0', &minutes) : NULL;
    if (s && *s == ':')
        s = parse_decimal(s + 1, &seconds);
    if (!s || seconds >= 61 || !(str_eq(s, "") || str_eq(s, "Z"))) /* a leap second is one */
        return -EINVAL;
    *ret_ns = (hours * INT64_C(3600) + minutes * INT64_C(60)) * NS_PER_S +
              (int64_t)(seconds * NS_PER_S + 0.5);
    return 0;
}

static int parse_utc(const char *s, int64_t *ret_ns)
{
    enum { MOST_YEAR = 2200 };
    struct tm day = {0};
    int64_t ns = 0;
    s = parse_digits(s, 4, MOST_YEAR, '-', &day.tm_year);
    s = s ? parse_digits(s, 2, 12, '-', &day.tm_mon) : NULL;
    s = s ? parse_digits(s, 2, 31, '\0', &day.tm_mday) : NULL;
    if (!s || day.tm_year < 1970 || !day.tm_mon || !day.tm_mday || (*s != 'T' && *s != ' ') ||
        parse_time_of_day(s + 1, &ns) < 0)
        return -EINVAL;
    day.tm_year -= 1900;
    day.tm_mon--;
    *ret_ns = (int64_t)timegm(&day) * NS_PER_S + ns;
    return 0;
}

int parse_moment(const char *s, struct moment *ret)
{
    struct moment m = {.kind = MOMENT_SINCE_START};
    int r;
    if (*s == '-') {
        m.kind = MOMENT_BEFORE_END;
        r = parse_span(s + 1, &m.ns);
    } else if (*s == '+') {
        r = parse_span(s + 1, &m.ns);
    } else if (strchr(s, '-')) {
        m.kind = MOMENT_UTC;
        r = parse_utc(s, &m.ns);
    } else if (strchr(s, ':')) {
        m.kind = MOMENT_OF_DAY;
        r = parse_time_of_day(s, &m.ns);
    } else {
        r = parse_span(s, &m.ns);
    }
    if (r == 0)
        *ret = m;
    return r;
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
