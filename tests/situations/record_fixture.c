/* wallspy as users run it, which also writes what it recorded to the file $WALLSPY_FIXTURE.  It is
 * linked so that the calls of outputs_write() come here first (--wrap of ld). */
#include <stdlib.h>

#include "base/log.h"
#include "cli/outputs.h"
#include "tests/support/fixture.h"

/* By its own type: the linker would not notice another parameter. */
__typeof__(outputs_write) __real_outputs_write;
__typeof__(outputs_write) __wrap_outputs_write;

int __wrap_outputs_write(struct outputs *outputs, struct recording *r, struct explanation *ret)
{
    const char *path = getenv("WALLSPY_FIXTURE");
    struct text text = {0};
    struct err err = {0};
    if (path && (fixture_add(&text, recording_profile(r), &err) < 0 ||
                 fixture_pack(text.s, text.len, path, &err) < 0))
        log_warn("fixture", "no fixture: %s", err.text);
    text_release(&text);
    return __real_outputs_write(outputs, r, ret);
}
