#include "sampler/ring.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check_main.h"

START_TEST(messages_come_out_in_order)
{
    struct ring *r = ring_new(32768);
    size_t len = 0;
    ck_assert_ptr_null(ring_peek(r, &len));
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 3; i++) {
            char *p = ring_reserve(r, 900);
            ck_assert_ptr_nonnull(p);
            memset(p, round + i, 900);
            ring_commit(r, (size_t)(round % 900) + 1);
        }
        for (int i = 0; i < 3; i++) {
            const char *p = ring_peek(r, &len);
            ck_assert_ptr_nonnull(p);
            ck_assert_uint_ge(len, (size_t)(round % 900) + 1);
            ck_assert_int_eq(p[round % 900], (char)(round + i));
            ring_release(r);
        }
    }
    r = ring_free(r);
}
END_TEST

START_TEST(full_ring_refuses_and_recovers)
{
    struct ring *r = ring_new(4096);
    size_t len = 0;
    int n = 0;
    while (ring_reserve(r, 500)) {
        ring_commit(r, 500);
        n++;
    }
    ck_assert_int_ge(n, 6);
    ck_assert_ptr_null(ring_reserve(r, 5000));
    while (ring_peek(r, &len))
        ring_release(r);
    void *large = ring_reserve(r, 3000);
    if (!large && !ring_peek(r, &len)) /* the rest of the memory had to be skipped first */
        large = ring_reserve(r, 3000);
    ck_assert_ptr_nonnull(large);
    r = ring_free(r);
}
END_TEST

enum { MESSAGES = 200000 };

static void *produce(void *arg)
{
    struct ring *r = arg;
    for (uint32_t i = 0; i < MESSAGES;) {
        size_t words = 1 + i % 200;
        uint32_t *p = ring_reserve(r, words * 4);
        if (!p) {
            sched_yield();
            continue;
        }
        for (size_t w = 0; w < words; w++)
            p[w] = i;
        ring_commit(r, words * 4);
        i++;
    }
    return NULL;
}

START_TEST(two_threads_lose_nothing)
{
    struct ring *r = ring_new(16384);
    pthread_t producer;
    ck_assert_int_eq(pthread_create(&producer, NULL, produce, r), 0);
    for (uint32_t i = 0; i < MESSAGES;) {
        size_t len = 0;
        const uint32_t *p = ring_peek(r, &len);
        if (!p) {
            sched_yield();
            continue;
        }
        ck_assert_uint_eq(p[0], i);
        ck_assert_uint_eq(p[i % 200], i);
        ring_release(r);
        i++;
    }
    pthread_join(producer, NULL);
    r = ring_free(r);
}
END_TEST

/* Can a child read R's first message? */
static bool child_has(struct ring *r)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        size_t len = 0;
        _exit(*(const volatile char *)ring_peek(r, &len) == 'x' ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

START_TEST(it_is_kept_from_children)
{
    struct ring *r = ring_new(1 << 16);
    memset(ring_reserve(r, 100), 'x', 100);
    ring_commit(r, 100);
    ck_assert(child_has(r));
    ring_keep_from_children(r, true);
    ck_assert(!child_has(r));
    ring_keep_from_children(r, false);
    ck_assert(child_has(r));
    ring_free(r);
}
END_TEST

CHECK_MAIN("ring", 30, messages_come_out_in_order, full_ring_refuses_and_recovers,
           two_threads_lose_nothing, it_is_kept_from_children)
