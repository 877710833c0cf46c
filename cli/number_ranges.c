#include "cli/number_ranges.h"

#include <stdlib.h>

struct range_writer {
    struct text *out;
    long first, last;
    size_t n, most;
};

static void end_range(struct range_writer *r)
{
    if (r->n && r->n <= r->most) {
        text_addf(r->out, "%s%ld", r->n > 1 ? ", " : "", r->first);
        if (r->last > r->first)
            text_addf(r->out, r->last == r->first + 1 ? ", %ld" : "-%ld", r->last);
    }
}

static void add_number(struct range_writer *r, long number)
{
    if (r->n && number == r->last + 1) {
        r->last = number;
        return;
    }
    end_range(r);
    r->n++;
    r->first = r->last = number;
}

static int by_value(const void *a, const void *b)
{
    const long *x = a;
    const long *y = b;
    return (*x > *y) - (*x < *y);
}

void number_ranges_add(long *numbers, size_t n, size_t most, struct text *out)
{
    struct range_writer r = {.out = out, .most = most};
    if (n) /* qsort(3) takes no NULL */
        qsort(numbers, n, sizeof *numbers, by_value);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || numbers[i] != numbers[i - 1])
            add_number(&r, numbers[i]);
    end_range(&r);
    text_add(out, r.n > most ? ", …" : "");
}
