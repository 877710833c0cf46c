/* Machine code as the unwinder decodes it. */
#include "tests/fuzz/fuzz.h"
#include "unwinder/insn.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct prologue prologue;
    int64_t rel;
    for (size_t at = 0, n; at < len && (n = insn_length(bytes + at, len - at)); at += n)
        FUZZ_CHECK(n <= INSN_MAX_BYTES && n <= len - at);
    (void)call_before(bytes, len, &rel);
    (void)code_jumps_to(bytes, len, len ? bytes[0] : 0);
    (void)plt_stub_slot(bytes, len, &rel);
    if (prologue_decode(bytes, len, &prologue) == 0)
        FUZZ_CHECK(prologue.end <= len);
    return 0;
}
