/* Line tables of all kinds: kind, first line, offset, table. */
#include <errno.h>

#include "pyframes/py_linetable.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feed f = {bytes, len};
    enum py_linetable_kind kind = feed_u8(&f) % (PY_LOCATIONS + 1);
    int32_t first_line = (int32_t)feed_u32(&f);
    int32_t offset = (int32_t)feed_u32(&f);
    int32_t line = 0;
    for (int i = 0; i < 8; i++) {
        int r = py_linetable_line(kind, f.at, f.left, first_line, offset, &line);
        FUZZ_CHECK(r == 0 || (r == -EPROTO && line == first_line));
        offset = (int32_t)((uint32_t)offset + (uint32_t)(2 * i));
    }
    return 0;
}
