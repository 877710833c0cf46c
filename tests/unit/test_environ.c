/* A process's environment as it is now: this one's own, and hostile ones. */
#include "target/environ.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/mem_image.h"

struct counted {
    const char *wanted;
    size_t n, wanted_n;
};

static void count(void *ctx, const char *string)
{
    struct counted *c = ctx;
    c->n++;
    c->wanted_n += str_eq(string, c->wanted);
}

START_TEST(what_was_set_since_the_start_is_found)
{
    struct mem *live;
    uint64_t seen = 0;
    struct counted c = {.wanted = "WALLSPY_TEST_RANK=12"};
    ck_assert_int_eq(mem_live_open(&live, getpid(), NULL), 0);
    struct modules *m = modules_new(getpid(), live);
    ck_assert_int_eq(modules_refresh(m), 0);
    uint64_t address = environ_address(m);
    ck_assert_ptr_eq((void *)(uintptr_t)address, &environ);
    ck_assert(environ_read(live, address, &seen, count, &c));
    ck_assert_uint_gt(c.n, 0);
    ck_assert_uint_eq(c.wanted_n, 0);
    c.n = 0;
    ck_assert(!environ_read(live, address, &seen, count, &c)); /* nothing has changed */
    ck_assert_uint_eq(c.n, 0);
    ck_assert_int_eq(setenv("WALLSPY_TEST_RANK", "12", 1), 0);
    ck_assert(environ_read(live, address, &seen, count, &c));
    ck_assert_uint_eq(c.wanted_n, 1);
    modules_free(m);
    mem_free(live);
}
END_TEST

enum { VARIABLE = 0x10008, ARRAY = 0x11ff0, STRINGS = 0x13fc0 };

/* Two strings, of which the second ends where the memory does; the array goes over a page's end. */
static struct mem *image(void)
{
    static const uint64_t array = ARRAY;
    static const uint64_t strings[2 + 512] = {STRINGS, STRINGS + 56, STRINGS - 8, 0x666, 0};
    static char text[64] = "RANK=3";
    struct mem *m = mem_image_new();
    memcpy(text + 56, "A=12345", 8);
    mem_image_add(m, VARIABLE, &array, sizeof array);
    mem_image_add(m, ARRAY, strings, sizeof strings);
    mem_image_add(m, STRINGS, text, sizeof text);
    return m;
}

START_TEST(strings_at_the_end_of_memory)
{
    struct mem *m = image();
    struct counted c = {.wanted = "A=12345"};
    uint64_t seen = 0;
    ck_assert(environ_read(m, VARIABLE, &seen, count, &c));
    ck_assert_uint_eq(c.wanted_n, 1);
    ck_assert_uint_eq(c.n, 2); /* the other two cannot be read */
    mem_free(m);
}
END_TEST

START_TEST(arrays_without_end_or_none)
{
    static uint64_t endless[5000];
    static const uint64_t arrays[] = {0x20000, 0, 0x20004, 0x90000};
    struct mem *m = mem_image_new();
    struct counted c = {.wanted = ""};
    uint64_t seen = 0;
    for (size_t i = 0; i < 5000; i++)
        endless[i] = 0x20000;
    mem_image_add(m, 0x20000, endless, sizeof endless);
    mem_image_add(m, 0x40000, arrays, sizeof arrays);
    for (size_t i = 0; i < 5; i++)
        ck_assert(!environ_read(m, 0x40000 + i * 8, &seen, count, &c));
    ck_assert_uint_eq(c.n, 0);
    mem_free(m);
}
END_TEST

CHECK_MAIN("environ", 20, what_was_set_since_the_start_is_found, strings_at_the_end_of_memory,
           arrays_without_end_or_none)
