/* Names of symbols. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pyframes/py_internal.h"
#include "symbolizer/demangle.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct text out = {0};
    char *name = xmalloc(len + 1);
    if (len)
        memcpy(name, bytes, len);
    name[len] = '\0';
    demangle(name, &out);
    FUZZ_CHECK(out.len <= MAX_SHOWN_NAME_BYTES && (!out.s || strlen(out.s) == out.len));
    (void)py_is_internal(name);
    text_release(&out);
    free(name);
    return 0;
}
