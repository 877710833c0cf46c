#include "base/log.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hold.h"

enum { LINE_BYTES = 2048 };

struct warning {
    const char *key; /* a string literal */
    char *line;      /* the printed line */
    uint64_t others; /* of the same key and another text, which were not */
};

static const struct {
    const char *name;
    enum trace_key key;
} keys[] = {
    {"merge", TRACE_MERGE},
    {"sym", TRACE_SYM},
    {"wait", TRACE_WAIT},
};

static log_sink the_sink;
static unsigned enabled_keys;
static pthread_mutex_t warnings_lock = PTHREAD_MUTEX_INITIALIZER;
static struct warning *warnings;
static size_t n_warnings, warnings_capacity;

void log_set_sink(log_sink sink)
{
    the_sink = sink;
}

/* Under the lock.  NULL: none yet. */
static struct warning *find_warning(const char *key)
{
    for (size_t i = 0; i < n_warnings; i++)
        if (strcmp(warnings[i].key, key) == 0)
            return &warnings[i];
    return NULL;
}

static bool first_time(const char *key, const char *line)
{
    pthread_mutex_lock(&warnings_lock);
    struct warning *known = find_warning(key);
    if (known) {
        known->others += strcmp(known->line, line) != 0;
    } else {
        warnings = array_reserve(warnings, &warnings_capacity, n_warnings + 1, sizeof *warnings);
        warnings[n_warnings++] = (struct warning){.key = key, .line = xstrdup(line)};
    }
    pthread_mutex_unlock(&warnings_lock);
    return !known;
}

void log_warn(const char *key, const char *format, ...)
{
    assert(!hold_active);
    if (!the_sink)
        return;
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (first_time(key, line))
        the_sink(line);
}

void log_end(void)
{
    char line[LINE_BYTES];
    for (size_t i = 0; i < n_warnings; i++) {
        const struct warning *w = &warnings[i];
        (void)snprintf(line, sizeof line, "%llu more like: %s", (unsigned long long)w->others,
                       w->line);
        if (w->others && the_sink)
            the_sink(line);
        free(w->line);
    }
    free(warnings);
    warnings = NULL;
    n_warnings = warnings_capacity = 0;
}

static unsigned topic_of(const char *name, size_t len)
{
    if (len == 3 && memcmp(name, "all", 3) == 0)
        return ~0U;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].name) == len && memcmp(keys[i].name, name, len) == 0)
            return keys[i].key;
    return 0;
}

bool trace_enable(const char *text)
{
    unsigned wanted = 0;
    while (text && *text) {
        size_t len = strcspn(text, ",");
        unsigned key = topic_of(text, len);
        if (!key)
            return false;
        wanted |= key;
        text += len + (text[len] == ',');
    }
    enabled_keys |= wanted;
    return true;
}

bool trace_want(enum trace_key key)
{
    return (enabled_keys & key) != 0;
}

void trace(enum trace_key key, const char *format, ...)
{
    assert(!hold_active);
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const char *name = "?";
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].key == key)
            name = keys[i].name;
    (void)fprintf(stderr, "%.6f %s %s\n", (double)clock_now_ns() / NS_PER_S, name, line);
}
