/* Names of everything, as a program, a file or a peer may have them: the first byte says how they
 * are used, the others are the names, a NUL between them. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/hostile_check.h"

enum { MAX_NAMES = 64, HUGE_BYTES = 300000 };
enum { USE_DISTINCT = 1, USE_HUGE = 2 }; /* of the first byte */

/* Repeats NAME up to HUGE_BYTES. */
static char *repeated(const char *name)
{
    size_t len = strlen(name);
    char *s = xmalloc(HUGE_BYTES + len + 1);
    size_t at = 0;
    for (; len && at < HUGE_BYTES; at += len)
        memcpy(s + at, name, len);
    s[at] = '\0';
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feed f = {bytes, len};
    uint8_t use = feed_u8(&f);
    char *text = xmalloc(f.left + 1);
    const char *names[MAX_NAMES];
    size_t n = 0;
    if (f.left)
        memcpy(text, f.at, f.left);
    text[f.left] = '\0';
    for (const char *at = text; n < MAX_NAMES && at <= text + f.left; at += strlen(at) + 1)
        names[n++] = at;
    char *huge = repeated(names[0]);
    names[0] = use & USE_HUGE ? huge : names[0];
    hostile_check(names, n, use & USE_DISTINCT, use & USE_DISTINCT);
    free(huge);
    free(text);
    return 0;
}
