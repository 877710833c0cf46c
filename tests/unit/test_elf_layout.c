#include "target/elf_layout.h"

#include "tests/support/check_main.h"

START_TEST(what_loads_cover_together)
{
    struct elf_layout l = {
        .n = 3,
        .segments = {{.type = PT_NOTE, .addr = 0x9000, .mem_bytes = 8},
                     {.type = PT_LOAD, .addr = 0x2010, .mem_bytes = 0x20},
                     {.type = PT_LOAD, .addr = 0x5ff0, .mem_bytes = 0x11}},
    };
    struct addr_range span;
    ck_assert(elf_layout_span(&l, &span));
    ck_assert_uint_eq(span.start, 0x2000);
    ck_assert_uint_eq(span.len, 0x5000);
}
END_TEST

START_TEST(what_covers_nothing)
{
    const struct elf_segment none[] = {
        {.type = PT_NOTE, .addr = 0x1000, .mem_bytes = 8},
        {.type = PT_LOAD, .addr = 0x1010},
        {.type = PT_LOAD,
         .addr = UINT64_MAX - 8,
         .mem_bytes = 8}, /* its page ends behind all addresses */
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct elf_layout l = {.n = 1, .segments = {none[i]}};
        struct addr_range span;
        ck_assert_msg(!elf_layout_span(&l, &span), "case %zu", i);
    }
}
END_TEST

CHECK_MAIN("elf_layout", 20, what_loads_cover_together, what_covers_nothing)
