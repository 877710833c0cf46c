/* Text of /proc/PID/maps: two loads one after the other, split where the input says. */
#include <string.h>

#include "target/maps.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct maps *m)
{
    uint64_t end = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct mapping *item = &m->items[i];
        FUZZ_CHECK(item->start >= end && item->start < item->end);
        FUZZ_CHECK(maps_find(m, item->start) == item && maps_find(m, item->end - 1) == item);
        FUZZ_CHECK(strlen(item->path) < 1 << 20);
        end = item->end;
    }
    FUZZ_CHECK(!maps_find(m, end));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct maps m = {0};
    const char *text = (const char *)bytes;
    const uint8_t *split = len ? memchr(bytes, '#', len) : NULL;
    size_t first = split ? (size_t)(split - bytes) : len;
    if (maps_parse(&m, text, first) == 0)
        check(&m);
    uint32_t generation = m.generation;
    if (split && maps_parse(&m, text + first + 1, len - first - 1) == 0)
        check(&m);
    FUZZ_CHECK(m.generation - generation <= 1);
    maps_release(&m);
    return 0;
}
