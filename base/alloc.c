#include "base/alloc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hold.h"

_Thread_local bool hold_active;

void alloc_failed(void)
{
    static const char text[] = "wallspy: out of memory\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

static void *check(void *p)
{
    if (!p)
        alloc_failed();
    return p;
}

void *xmalloc(size_t bytes)
{
    assert(!hold_active);
    return check(malloc(bytes ? bytes : 1));
}

void *xcalloc(size_t n, size_t bytes)
{
    assert(!hold_active);
    return check(calloc(n ? n : 1, bytes ? bytes : 1));
}

void *xrealloc(void *old, size_t bytes)
{
    assert(!hold_active);
    return check(realloc(old, bytes ? bytes : 1));
}

char *xstrdup(const char *s)
{
    size_t len = strlen(s) + 1;
    return memcpy(xmalloc(len), s, len);
}

char *xasprintf(const char *format, ...)
{
    assert(!hold_active);
    char *s = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&s, format, args);
    va_end(args);
    return check(n < 0 ? NULL : s);
}

void *array_reserve(void *items, size_t *capacity, size_t need, size_t item_bytes)
{
    if (need <= *capacity)
        return items;
    size_t grown = *capacity ? *capacity : 8;
    while (grown < need)
        grown *= 2;
    assert(grown <= SIZE_MAX / item_bytes);
    *capacity = grown;
    return xrealloc(items, grown * item_bytes);
}
