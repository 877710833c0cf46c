/* Dumps of other hosts, as a report reads and judges them. */
#include "fleet/headline.h"
#include "fleet/inputs.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    enum { WIDTH = 79, CLASS_WIDTH = 40 };
    struct fleet f = {0};
    struct verdict v;
    struct text line = {0};
    inputs_read_bytes(&f, "rank1", (const char *)bytes, len);
    verdict_find(&f, &v);
    headline_add(&f, &v, WIDTH, &line);
    FUZZ_CHECK(line.len > 0 && is_plain_text(line.s, line.len));
    FUZZ_CHECK(utf8_columns(line.s, line.len) <= WIDTH);
    text_clear(&line);
    fleet_words_add_chain(&f, &v, &line);
    FUZZ_CHECK(is_plain_text(line.len ? line.s : "", line.len));
    for (size_t i = 0; i < v.n_classes; i++) {
        text_clear(&line);
        headline_add_class(&f, &v, i, CLASS_WIDTH, &line);
        FUZZ_CHECK(utf8_columns(line.s, line.len) <= CLASS_WIDTH);
        fleet_words_add_peers(&v, &v.classes[i], &line);
        fleet_words_add_members(&f, &v, &v.classes[i], &line);
        fleet_words_add_way(&f, &v.classes[i], &line);
        FUZZ_CHECK(is_plain_text(line.s, line.len));
    }
    text_release(&line);
    verdict_release(&v);
    fleet_release(&f);
    return 0;
}
