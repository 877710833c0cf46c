/* A speedscope file that somebody changed, or another file: it gives a profile or one error. */
#include <string.h>

#include "cli/report_tables.h"
#include "cli/speedscope_in.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    enum { WIDTH = 79 };
    const struct options all = {.tables = {true, true, true, true}};
    struct speedscope s;
    struct err err = {0};
    struct text said = {0};
    if (speedscope_read_bytes(&s, (const char *)bytes, len, "x", &err) < 0) {
        FUZZ_CHECK(str_starts(err.text, "x: ") && is_plain_text(err.text, strlen(err.text)));
        return 0;
    }
    report_tables_add(&all, s.p, WIDTH, &said);
    FUZZ_CHECK(said.len > 0);
    text_clear(&said);
    text_add(&said, "");
    findings_write(&s.findings, WIDTH, &said);
    FUZZ_CHECK(is_plain_text(said.s, said.len));
    text_release(&said);
    speedscope_release(&s);
    return 0;
}
