#include "base/log.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hold.h"

enum { MAX_WARNINGS = 64, LINE_BYTES = 2048 };

static const struct {
    const char *name;
    enum trace_key key;
} keys[] = {
    {"merge", TRACE_MERGE},
    {"sym", TRACE_SYM},
};

static log_sink the_sink;
static unsigned enabled_keys;
static pthread_mutex_t warned_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *warned[MAX_WARNINGS]; /* keys are string literals */

void log_set_sink(log_sink sink)
{
    the_sink = sink;
}

static bool first_time(const char *key)
{
    bool first = false;
    pthread_mutex_lock(&warned_lock);
    for (int i = 0; i < MAX_WARNINGS; i++) {
        if (warned[i] && strcmp(warned[i], key) == 0)
            break;
        if (!warned[i]) {
            warned[i] = key;
            first = true;
            break;
        }
    }
    pthread_mutex_unlock(&warned_lock);
    return first;
}

void log_warn(const char *key, const char *format, ...)
{
    assert(!hold_active);
    if (!the_sink || !first_time(key))
        return;
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    the_sink(line);
}

static unsigned key_of(const char *name, size_t len)
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
        unsigned key = key_of(text, len);
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
