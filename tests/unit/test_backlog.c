#include "worker/backlog.h"

#include <string.h>
#include <unistd.h>

#include "tests/support/check_main.h"

enum { RING_BYTES = 1 << 16, MESSAGE_BYTES = 1000, MANY = 1000 };

static void put(struct ring *ring, uint32_t number)
{
    uint32_t *message = ring_reserve(ring, MESSAGE_BYTES);
    ck_assert_msg(message != NULL, "%u", number);
    memset(message, (int)number, MESSAGE_BYTES);
    *message = number;
    ring_commit(ring, MESSAGE_BYTES);
}

static void expect(struct backlog *b, struct ring *ring, uint32_t number)
{
    size_t bytes = 0;
    const uint32_t *message = backlog_peek(b, ring, &bytes);
    ck_assert_ptr_nonnull(message);
    ck_assert_uint_eq(*message, number);
    ck_assert_uint_ge(bytes, MESSAGE_BYTES);
    ck_assert_uint_eq(((const uint8_t *)message)[MESSAGE_BYTES - 1], (uint8_t)number);
    backlog_release(b, ring);
}

/* The worker takes none meanwhile: of 64 kB the ring would be full. */
START_TEST(a_full_ring_is_emptied_and_the_order_kept)
{
    struct ring *ring = ring_new(RING_BYTES);
    struct backlog b = {0};
    uint32_t next = 0;
    size_t bytes;
    for (int round = 0; round < 2; round++) {
        backlog_begin(&b, ring);
        for (int i = 0; i < MANY; i++, next++) {
            put(ring, next);
            while (i % 8 == 7 && !ring_is_empty(ring))
                (void)usleep(1000);
        }
        backlog_end(&b);
        put(ring, next);
        put(ring, next + 1);
        for (uint32_t i = next - MANY; i <= next + 1; i++)
            expect(&b, ring, i);
        ck_assert_ptr_null(backlog_peek(&b, ring, &bytes));
        ck_assert_uint_eq(b.bytes, 0); /* all of its room is there again */
        next += 2;
    }
    backlog_begin(&b, ring);
    put(ring, next);
    while (!ring_is_empty(ring))
        (void)usleep(1000);
    backlog_release_all(&b);
    ck_assert_ptr_null(backlog_peek(&b, ring, &bytes));
    ring_free(ring);
}
END_TEST

CHECK_MAIN("backlog", 20, a_full_ring_is_emptied_and_the_order_kept)
