#include <stdlib.h>

#include "shapes.h"

static volatile int sink;

static int deepest(int x)
{
    sink = x;
    return sink * 3;
}

static int middle(int x)
{
    int total = 0;
    for (int i = 0; i < x; i++)
        total += deepest(i);
    return total;
}

__attribute__((noinline)) static int cold_branch(int x)
{
    if (__builtin_expect(x < 0, 0))
        abort();
    return x + rand();
}

int plain_c(int x)
{
    return middle(x) + cold_branch(x) + deepest(x);
}

/* One function, four names: the exported one with the fewest underscores is shown. */
__attribute__((noinline)) static int local_name(int x)
{
    return sink + x;
}
int __aliased(int x) __attribute__((alias("local_name")));
int aliased(int x) __attribute__((weak, alias("local_name")));
int _aliased(int x) __attribute__((alias("local_name")));

/* As libc does: DWARF knows the function by another name than its callers. */
__attribute__((noinline)) int __GI_hidden_name(int x)
{
    return sink - x;
}
int public_name(int x) __attribute__((alias("__GI_hidden_name")));

/* The same of what it exports under no name. */
__attribute__((noinline, visibility("hidden"))) int __GI___inner_name(int x)
{
    return sink - 2 * x;
}
int __inner_name(int x) __attribute__((visibility("hidden"), alias("__GI___inner_name")));
