/* Warnings for the user and traces for the developer.  Nothing prints until cli/ sets a sink, so
 * that library folders stay silent.  Never called while a thread is held (asserted). */
#pragma once

#include <stdbool.h>

enum trace_key {
    TRACE_MERGE = 1 << 0,
    TRACE_SYM = 1 << 1,
    TRACE_WAIT = 1 << 2,
};

typedef void (*log_sink)(const char *line);

/* SINK gets whole lines without the newline, from any thread; NULL silences. */
void log_set_sink(log_sink sink);

/* One warning for the user.  KEY, a literal, names the cause.  Of several calls with the same KEY
 * (compared as text) the user reads the first text; other texts are counted. */
void log_warn(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* At the end, when no other thread warns: says how many warnings of each cause were counted. */
void log_end(void);

/* Turns on the keys listed in TEXT, "merge,sym" or "all"; NULL is fine.  Returns false and
 * changes nothing if a key is unknown. */
bool trace_enable(const char *text);
bool trace_want(enum trace_key key);
/* To stderr at once: time, key, text.  Call behind `if (trace_want(KEY))`. */
void trace(enum trace_key key, const char *format, ...) __attribute__((format(printf, 2, 3)));
