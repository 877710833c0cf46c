#include "sampler/futex_bytes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "tests/support/check_main.h"

enum { PAGE = 4096, CAPACITY = 1 << 20 };

/* Live memory of two pages at 0x10000 with a hole behind; counts its calls. */
struct fake {
    struct mem mem;
    uint8_t bytes[2 * PAGE];
    int calls;
};

static int fake_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct fake *fake = (struct fake *)m;
    fake->calls++;
    if (addr < 0x10000 || addr + len > 0x10000 + sizeof fake->bytes)
        return -14;
    memcpy(buf, fake->bytes + (addr - 0x10000), len);
    return 0;
}

static size_t fake_read_spans(struct mem *m, const struct mem_span *spans, size_t n)
{
    struct fake *fake = (struct fake *)m;
    size_t total = 0;
    fake->calls++;
    for (size_t i = 0; i < n; i++) {
        uint64_t end = 0x10000 + sizeof fake->bytes;
        if (spans[i].addr < 0x10000 || spans[i].addr >= end)
            return total;
        size_t len = end - spans[i].addr < spans[i].len ? end - spans[i].addr : spans[i].len;
        memcpy(spans[i].buf, fake->bytes + (spans[i].addr - 0x10000), len);
        total += len;
        if (len < spans[i].len)
            break;
    }
    return total;
}

static const struct mem_ops fake_ops = {.read = fake_read, .read_spans = fake_read_spans};
static struct fake fake;
static struct recorder recorder;
static uint64_t message[CAPACITY / 8];
static const struct prefetch nothing;

static void set_up(void)
{
    fake.mem.ops = &fake_ops;
    for (size_t i = 0; i < sizeof fake.bytes; i++)
        fake.bytes[i] = (uint8_t)(i * 7 + i / 256);
    recorder_init(&recorder);
    recorder_begin(&recorder, &fake.mem, message, 64, sizeof message);
}

static struct snapshot_mem unpack(void)
{
    uint32_t offset = 0;
    uint32_t count = 0;
    ck_assert_uint_gt(recorder_finish(&recorder, &offset, &count), 0);
    struct snapshot_mem m;
    snapshot_mem_init(&m, message, (struct snapshot_range *)(void *)((uint8_t *)message + offset),
                      count);
    return m;
}

START_TEST(what_was_read_can_be_read_again)
{
    set_up();
    uint8_t buf[1000];
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x10810, 512, &nothing), 752);
    ck_assert_int_eq(mem_read(&recorder.mem, 0x10003, buf, 700), 0);
    ck_assert_int_lt(mem_read(&recorder.mem, 0x12000, buf, 1), 0);
    ck_assert_int_lt(mem_read(&recorder.mem, UINT64_MAX - 3, buf, 8), 0);
    struct snapshot_mem m = unpack();
    memset(buf, 0, sizeof buf);
    ck_assert_int_eq(mem_read(&m.mem, 0x10003, buf, 700), 0);
    ck_assert_mem_eq(buf, fake.bytes + 3, 700);
    ck_assert_int_eq(mem_read(&m.mem, 0x10810, buf, 700), 0);
    ck_assert_mem_eq(buf, fake.bytes + 0x810, 700);
    ck_assert_int_lt(mem_read(&m.mem, 0x10400, buf, 1), 0);
    ck_assert_int_lt(mem_read(&m.mem, 0x10a00 + 512, buf, 1), 0);
}
END_TEST

START_TEST(stack_ends_where_its_mapping_does)
{
    set_up();
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11f08, 65536, &nothing), 0xf8);
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x12f08, 65536, &nothing), 0);
}
END_TEST

START_TEST(what_lies_below_sp_is_there_as_far_as_its_page)
{
    uint8_t buf[128];
    set_up();
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11100, 256, &nothing), 256);
    struct snapshot_mem m = unpack();
    ck_assert_int_eq(mem_read(&m.mem, 0x11100 - sizeof buf, buf, sizeof buf), 0);
    ck_assert_mem_eq(buf, fake.bytes + PAGE + 0x100 - sizeof buf, sizeof buf);
    ck_assert_mem_eq(recorder_stack_at(&recorder, 0x11100), fake.bytes + PAGE + 0x100, 256);
    set_up();
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11040, 192, &nothing), 192);
    m = unpack();
    ck_assert_int_eq(mem_read(&m.mem, 0x11000, buf, 0x40), 0);
    ck_assert_int_lt(mem_read(&m.mem, 0x10ff8, buf, 8), 0);
}
END_TEST

START_TEST(second_capture_takes_one_call)
{
    set_up();
    uint8_t buf[8];
    static const uint64_t addrs[] = {0x10000, 0x10f00, 0x10100, 0x10208};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(mem_read(&recorder.mem, addrs[i], buf, 8), 0);
    struct prefetch prefetch = {0};
    recorder_remember(&recorder, &prefetch);
    ck_assert_uint_eq(prefetch.n, 2); /* three that touch; and one too far away */
    ck_assert_uint_eq(prefetch.spans[0].addr, 0x10000);
    ck_assert_uint_eq(prefetch.spans[0].len, 0x300);
    ck_assert_uint_eq(prefetch.spans[1].addr, 0x10f00);
    recorder_begin(&recorder, &fake.mem, message, 64, sizeof message);
    fake.calls = 0;
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11000, 1024, &prefetch), 1024);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(mem_read(&recorder.mem, addrs[i], buf, 8), 0);
        ck_assert_mem_eq(buf, fake.bytes + (addrs[i] - 0x10000), 8);
    }
    ck_assert_int_eq(fake.calls, 1);
    unpack();
}
END_TEST

START_TEST(blocks_close_to_each_other_are_one_stretch)
{
    set_up();
    uint8_t buf[8];
    struct prefetch prefetch = {0};
    /* Blocks by address, with gaps of 0, 1024 and 1280 bytes. */
    static const uint64_t addrs[] = {0x10e00, 0x10000, 0x10800, 0x10300, 0x10200};
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(mem_read(&recorder.mem, addrs[i], buf, 8), 0);
    recorder_remember(&recorder, &prefetch);
    ck_assert_uint_eq(prefetch.n, 2);
    ck_assert_uint_eq(prefetch.spans[0].addr, 0x10000);
    ck_assert_uint_eq(prefetch.spans[0].len, 0x900);
    ck_assert_uint_eq(prefetch.spans[1].addr, 0x10e00);
    ck_assert_uint_eq(prefetch.wanted, 5);
}
END_TEST

START_TEST(the_list_follows_what_is_asked_for)
{
    set_up();
    uint8_t buf[8];
    struct prefetch prefetch = {0};
    static const uint64_t asked[][3] = {
        {0x10000, 0x10a00}, {0x10a00, 0x10000}, {0x10000, 0x10a00, 0x11e00}, {0x10a00}};
    static const uint32_t spans[] = {2, 2, 3, 1};
    for (int i = 0; i < 4; i++) {
        recorder_begin(&recorder, &fake.mem, message, 64, sizeof message);
        ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11000, 256, &prefetch), 256);
        for (int j = 0; j < 3 && asked[i][j]; j++)
            ck_assert_int_eq(mem_read(&recorder.mem, asked[i][j], buf, 8), 0);
        recorder_remember(&recorder, &prefetch);
        ck_assert_uint_eq(prefetch.n, spans[i]);
    }
    ck_assert_uint_eq(prefetch.spans[0].addr, 0x10a00);
}
END_TEST

/* More blocks than a list has spans, and as many as a capture may have. */
START_TEST(a_list_may_be_full)
{
    static struct recorder full;
    static struct prefetch prefetch;
    full.n_fetched = full.n_wanted = RECORDER_MAX_BLOCKS;
    for (uint64_t i = 0; i < RECORDER_MAX_BLOCKS; i++)
        full.wanted[i] = 0x10000 + (i * 2671 % RECORDER_MAX_BLOCKS) * 2048;
    recorder_remember(&full, &prefetch);
    ck_assert_uint_eq(prefetch.n, RECORDER_MAX_SPANS);
    for (uint32_t i = 0; i < prefetch.n; i++)
        ck_assert_uint_eq(prefetch.spans[i].addr, 0x10000 + i * 2048);
    for (uint32_t i = 1; i < RECORDER_MAX_BLOCKS; i++)
        ck_assert_uint_lt(full.wanted[i - 1], full.wanted[i]);
}
END_TEST

static size_t read_all(struct mem *m, const struct mem_span *spans, size_t n)
{
    size_t total = 0;
    (void)m;
    for (size_t i = 0; i < n; i++) {
        memset(spans[i].buf, 0, spans[i].len);
        total += spans[i].len;
    }
    return total;
}

static int read_any(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    (void)m;
    (void)addr;
    memset(buf, 1, len);
    return 0;
}

/* Spans may have many blocks between those that were asked for, more than there are slots. */
START_TEST(what_is_fetched_ahead_leaves_room_for_new_blocks)
{
    enum { SPAN = 512 * 1024, SPANS = 8, BIG = SPANS * SPAN + (1 << 20) };
    static const struct mem_ops any = {.read = read_any, .read_spans = read_all};
    struct mem live = {.ops = &any};
    struct prefetch prefetch = {.n = SPANS, .wanted = SPANS};
    for (uint64_t i = 0; i < SPANS; i++) {
        prefetch.spans[i].addr = (i + 1) << 24;
        prefetch.spans[i].len = SPAN;
    }
    uint8_t *large = xcalloc(1, BIG);
    uint64_t word;
    recorder_init(&recorder);
    recorder_begin(&recorder, &live, large, 0, BIG);
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11000, 1024, &prefetch), 1024);
    ck_assert_uint_gt(recorder.n_blocks, SPAN / RECORDER_BLOCK_BYTES - 1);
    ck_assert_uint_lt(recorder.n_blocks, RECORDER_MAX_BLOCKS);
    ck_assert_int_eq(mem_read(&recorder.mem, (uint64_t)1 << 40, &word, sizeof word), 0);
    for (uint64_t at = 0; at < (uint64_t)SPANS * SPAN; at += RECORDER_BLOCK_BYTES)
        (void)mem_read(&recorder.mem, ((at / SPAN + 1) << 24) + at % SPAN, &word, sizeof word);
    ck_assert_uint_le(recorder.n_wanted, RECORDER_MAX_BLOCKS);
    free(large);
}
END_TEST

START_TEST(more_is_read_around_what_is_there)
{
    set_up();
    uint8_t buf[2 * PAGE];
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11000, 512, &nothing), 512);
    ck_assert_int_eq(mem_read(&recorder.mem, 0x10a10, buf, 8), 0);
    ck_assert_uint_eq(recorder_read_more(&recorder, 0x10810, 0x1000), 0x10f0);
    ck_assert_uint_eq(recorder_read_more(&recorder, 0x11f00, 0x1000), 0x100);
    ck_assert_uint_eq(recorder_read_more(&recorder, 0x13000, 0x1000), 0);
    struct snapshot_mem m = unpack();
    ck_assert_int_eq(mem_read(&m.mem, 0x10800, buf, 0x1100), 0);
    ck_assert_mem_eq(buf, fake.bytes + 0x800, 0x1100);
    ck_assert_int_eq(mem_read(&m.mem, 0x11f00, buf, 0x100), 0);
    ck_assert_mem_eq(buf, fake.bytes + 0x1f00, 0x100);
    ck_assert_int_lt(mem_read(&m.mem, 0x11900, buf, 1), 0);
}
END_TEST

START_TEST(stale_prefetch_does_not_cost_the_stack)
{
    set_up();
    struct prefetch prefetch = {.n = 2, .wanted = 2};
    prefetch.spans[0].addr = 0x10000;
    prefetch.spans[1].addr = 0x90000;
    prefetch.spans[0].len = prefetch.spans[1].len = 256;
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11000, 1024, &prefetch), 1024);
    struct snapshot_mem m = unpack();
    uint8_t buf[1024];
    ck_assert_int_eq(mem_read(&m.mem, 0x11000, buf, 1024), 0);
    ck_assert_mem_eq(buf, fake.bytes + 0x1000, 1024);
    recorder_remember(&recorder, &prefetch);
    ck_assert_uint_eq(prefetch.n, 0); /* prefetched, but nobody asked for it */
}
END_TEST

START_TEST(full_message_refuses)
{
    set_up();
    recorder_begin(&recorder, &fake.mem, message, 64, 64 + 1024);
    uint8_t buf[8];
    int r = 0;
    int n = 0;
    for (uint64_t addr = 0x10000; r == 0; addr += 512, n++)
        r = mem_read(&recorder.mem, addr, buf, 8);
    ck_assert_int_eq(r, -28);
    ck_assert_int_ge(n, 3);
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11000, 1024, &nothing), 0);
    unpack();
}
END_TEST

/* Blocks that are fetched ahead give way to the stack. */
START_TEST(a_stack_goes_before_what_is_fetched_ahead)
{
    enum { STACK = 1024, USED = 64, BLOCK = RECORDER_BLOCK_BYTES };
    const size_t table = 3 * sizeof(struct snapshot_range);
    set_up();
    struct prefetch prefetch = {.n = 2, .wanted = 2};
    uint8_t buf[8];
    prefetch.spans[0].addr = 0x10000;
    prefetch.spans[1].addr = 0x10800;
    prefetch.spans[0].len = prefetch.spans[1].len = BLOCK;
    recorder_begin(&recorder, &fake.mem, message, USED, USED + STACK + BLOCK + table);
    ck_assert_uint_eq(recorder_read_stack(&recorder, 0x11000, STACK, &prefetch), STACK);
    struct snapshot_mem m = unpack();
    ck_assert_int_eq(mem_read(&m.mem, 0x10000, buf, sizeof buf), 0);
    ck_assert_int_lt(mem_read(&m.mem, 0x10800, buf, sizeof buf), 0);
    ck_assert_int_eq(mem_read(&m.mem, 0x11000, buf, sizeof buf), 0);
}
END_TEST

START_TEST(a_full_message_takes_no_more)
{
    set_up();
    uint32_t offset = 0, count = 0;
    recorder_begin(&recorder, &fake.mem, message, 64, 64 + RECORDER_BLOCK_BYTES);
    ck_assert_uint_eq(recorder_read_more(&recorder, 0x10000, 16), 0);
    recorder_begin(&recorder, &fake.mem, message, 61, 63); /* nor a table, which is aligned */
    ck_assert_uint_eq(recorder_finish(&recorder, &offset, &count), 0);
    ck_assert_uint_eq(offset, 0);
}
END_TEST

/* The lock of a thread in futex(2), at the beginning, in the middle and at the end of what is
 * mapped. */
START_TEST(bytes_around_a_futex_word_are_kept)
{
    static const struct {
        uint64_t word, first;
        size_t len;
    } cases[] = {
        {0x10000, 0x10000, FUTEX_BYTES_FROM},
        {0x10a04, 0x10a04 - FUTEX_BYTES_BEFORE, FUTEX_BYTES_BEFORE + FUTEX_BYTES_FROM},
        {0x11ffc, 0x11ffc - FUTEX_BYTES_BEFORE, FUTEX_BYTES_BEFORE + 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_up();
        fake.calls = 0;
        struct snapshot s = {.syscall = SYS_futex, .syscall_args = {cases[i].word}};
        uint8_t buf[FUTEX_BYTES_BEFORE + FUTEX_BYTES_FROM];
        futex_bytes_read(&recorder, &s);
        ck_assert_int_le(fake.calls, 2);
        struct snapshot_mem m = unpack();
        ck_assert_int_eq(mem_read(&m.mem, cases[i].first, buf, cases[i].len), 0);
        ck_assert_mem_eq(buf, fake.bytes + (cases[i].first - 0x10000), cases[i].len);
    }
    set_up();
    fake.calls = 0;
    struct snapshot other = {.syscall = SYS_read, .syscall_args = {0x10000}};
    futex_bytes_read(&recorder, &other);
    struct snapshot low = {.syscall = SYS_futex, .syscall_args = {8}};
    futex_bytes_read(&recorder, &low);
    ck_assert_int_eq(fake.calls, 0);
}
END_TEST

CHECK_MAIN("recorder", 20, what_was_read_can_be_read_again, stack_ends_where_its_mapping_does,
           what_lies_below_sp_is_there_as_far_as_its_page, second_capture_takes_one_call,
           blocks_close_to_each_other_are_one_stretch, the_list_follows_what_is_asked_for,
           a_list_may_be_full, what_is_fetched_ahead_leaves_room_for_new_blocks,
           more_is_read_around_what_is_there, stale_prefetch_does_not_cost_the_stack,
           full_message_refuses, a_stack_goes_before_what_is_fetched_ahead,
           a_full_message_takes_no_more, bytes_around_a_futex_word_are_kept)
