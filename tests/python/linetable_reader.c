/* Reads from stdin what linetable.py says of each code object and compares it with
 * py_linetable_line(), instruction by instruction.  Exits 1 if a line differs. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "pyframes/py_linetable.h"

struct head {
    int32_t kind, first_line;
    uint32_t table_len, n;
};
struct expected {
    int32_t offset, line;
};

static bool read_all(void *buf, size_t len)
{
    return fread(buf, 1, len, stdin) == len;
}

/* Returns the number of instructions whose line differs. */
static size_t compare(const struct head *h, const uint8_t *table, const struct expected *want)
{
    size_t wrong = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        int32_t line = -1;
        int r = py_linetable_line((enum py_linetable_kind)h->kind, table, h->table_len,
                                  h->first_line, want[i].offset, &line);
        if (r == 0 && line == want[i].line)
            continue;
        if (wrong++ == 0)
            printf("first line %d, offset %d: %d, line %d, should be %d\n", h->first_line,
                   want[i].offset, r, line, want[i].line);
    }
    return wrong;
}

int main(void)
{
    size_t codes = 0, instructions = 0, wrong = 0;
    struct head h;
    while (read_all(&h, sizeof h)) {
        uint8_t *table = xmalloc(h.table_len + 1);
        struct expected *want = xcalloc(h.n + 1, sizeof *want);
        if (!read_all(table, h.table_len) || !read_all(want, h.n * sizeof *want)) {
            printf("the input ends early\n");
            return 1;
        }
        codes++;
        instructions += h.n;
        wrong += compare(&h, table, want);
        free(table);
        free(want);
    }
    printf("%zu code objects, %zu instructions, %zu wrong\n", codes, instructions, wrong);
    return wrong || codes < 1000;
}
