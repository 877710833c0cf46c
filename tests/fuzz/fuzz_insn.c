/* Machine code as the unwinder decodes it. */
#include "arch/insn.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/bytes_mem.h"
#include "unwinder/insn_unwind.h"

/* Ways from the first byte, and to the one that it says. */
static void find_ways(const uint8_t *bytes, size_t len)
{
    struct bytes_mem c = bytes_mem_of(0, bytes, len);
    struct rule rule;
    uint64_t pc = len ? bytes[0] : 0;
    if (insn_unwind_to_return(bytes_mem_read, &c, pc, &rule) == 0)
        FUZZ_CHECK(rule.cfa.offset >= 8);
    if (insn_unwind_from_entry(bytes_mem_read, &c, 0, pc, &rule) == 0)
        FUZZ_CHECK(rule.cfa.offset >= 8);
    if (insn_unwind_usual(bytes_mem_read, &c, 0, &rule) == 0)
        FUZZ_CHECK(rule.cfa.offset >= 8);
    (void)insn_unwind_is_exit(bytes_mem_read, &c, pc);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct prologue prologue;
    int64_t rel;
    for (size_t at = 0, n; at < len && (n = insn_length(bytes + at, len - at)); at += n)
        FUZZ_CHECK(n <= INSN_MAX_BYTES && n <= len - at);
    (void)call_before(bytes, len, &rel);
    (void)code_jumps_to(bytes, len, len ? bytes[0] : 0);
    (void)code_jumps_away(bytes, len);
    (void)plt_stub_slot(bytes, len, &rel);
    find_ways(bytes, len);
    if (prologue_decode(bytes, len, &prologue) == 0)
        FUZZ_CHECK(prologue.end <= len);
    return 0;
}
