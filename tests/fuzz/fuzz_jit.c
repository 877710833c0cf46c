/* What JIT compilers tell: a list of objects for debuggers, in memory, which changes between two
 * looks; or a text file for perf.  The first byte says which. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/demangle.h"
#include "symbolizer/perf_map.h"
#include "target/jit_list.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/bytes_mem.h"

enum { BASE = 0x1000 };

static void read_list(struct feed *f)
{
    struct bytes_mem memory = bytes_mem_of(BASE, NULL, 0);
    struct jit_list list = {.descriptor = BASE};
    memory.bytes = feed_bytes(f, feed_u16(f), &memory.len);
    bool changed = jit_list_refresh(&list, &memory.mem);
    FUZZ_CHECK(changed && list.n <= memory.len);
    FUZZ_CHECK(!list.whole || !jit_list_refresh(&list, &memory.mem));
    memory.bytes = f->at;
    memory.len = f->left;
    if (jit_list_refresh(&list, &memory.mem))
        FUZZ_CHECK(list.n <= memory.len);
    jit_list_release(&list);
}

/* One file for all inputs, overwritten. */
static const char *file_of(const struct feed *f)
{
    static char path[] = "/tmp/wallspy-perf-map-XXXXXX";
    static int fd = -1;
    if (fd < 0) {
        fd = mkstemp(path);
        FUZZ_CHECK(fd >= 0);
    }
    FUZZ_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, f->at, f->left, 0) == (ssize_t)f->left);
    return path;
}

static void read_perf_map(const struct feed *f)
{
    struct perf_map *m = perf_map_new(file_of(f), getuid(), 0);
    struct text name = {0};
    (void)perf_map_refresh(m);
    for (uint64_t addr = 0; addr < 0x4000; addr += 0x40) {
        bool found = perf_map_find(m, addr, &name) || perf_map_find(m, UINT64_MAX - addr, &name);
        FUZZ_CHECK(!found ||
                   (name.len && name.len <= MAX_SHOWN_NAME_BYTES && !strchr(name.s, '\n')));
    }
    text_release(&name);
    perf_map_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feed f = {bytes, len};
    if (feed_u8(&f) & 1)
        read_list(&f);
    else
        read_perf_map(&f);
    return 0;
}
