/* A profile as pprof's, read back by its own numbers of fields. */
#include <string.h>

#include "base/clock.h"
#include "exporter/exporter.h"
#include "profile/kept.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

enum { TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING }; /* of struct field */

static char *written;
static size_t written_len;
static struct export_notes notes;

struct field {
    uint32_t number;
    uint64_t value; /* or the length of BYTES */
    const char *bytes;
};

static uint64_t varint(const char **at)
{
    uint64_t value = 0;
    int shift = 0;
    unsigned char byte;
    do {
        byte = (unsigned char)*(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

/* The field at *AT, which moves behind it; false: END is reached. */
static bool next(const char **at, const char *end, struct field *ret)
{
    if (*at >= end)
        return false;
    uint64_t key = varint(at);
    *ret = (struct field){.number = (uint32_t)(key >> 3), .value = varint(at)};
    if ((key & 7) == 2) {
        ret->bytes = *at;
        *at += ret->value;
    }
    ck_assert(*at <= end);
    return true;
}

/* The Nth field NUMBER of a message; 0 bytes and no value if there is none. */
static struct field field_of(const char *message, size_t len, uint32_t number, size_t n)
{
    const char *at = message;
    struct field f;
    while (next(&at, message + len, &f))
        if (f.number == number && n-- == 0)
            return f;
    return (struct field){0};
}

static struct field in(struct field message, uint32_t number, size_t n)
{
    return field_of(message.bytes, message.value, number, n);
}

static struct field top(uint32_t number, size_t n)
{
    return field_of(written, written_len, number, n);
}

static size_t count(uint32_t number)
{
    size_t n = 0;
    while (top(number, n).bytes)
        n++;
    return n;
}

static void assert_string(uint64_t number, const char *expected)
{
    struct field s = top(STRING, number);
    ck_assert_uint_eq(s.value, strlen(expected));
    ck_assert_int_eq(memcmp(s.bytes, expected, s.value), 0);
}

/* The Ith number of a packed field. */
static uint64_t packed(struct field f, size_t i)
{
    const char *at = f.bytes;
    uint64_t value = varint(&at);
    while (i--)
        value = varint(&at);
    return value;
}

static struct field by_id(uint32_t number, uint64_t id)
{
    size_t n = 0;
    while (top(number, n).bytes && in(top(number, n), 1, 0).value != id)
        n++;
    return top(number, n);
}

/* The function of frame I of SAMPLE, innermost first. */
static void assert_frame(struct field sample, size_t i, const char *name)
{
    struct field location = by_id(LOCATION, packed(in(sample, 1, 0), i));
    struct field function = by_id(FUNCTION, in(in(location, 4, 0), 1, 0).value);
    assert_string(in(function, 2, 0).value, name);
}

static void write_profile(const struct profile *p, uint64_t max_bytes)
{
    const struct view_options options = {0};
    free(written);
    FILE *out = open_memstream(&written, &written_len);
    ck_assert_int_eq(
        exporter_write(exporter_by_path("a.pb.gz"), p, &options, NULL, max_bytes, out, &notes), 0);
    (void)fclose(out);
}

START_TEST(each_stack_is_one_sample_with_four_times)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "step@/src/train.py:7:9 > run!libmge.so", 20, 20);
    builder_run(&b, main, "step@/src/train.py:7:9 > read pipe [blocked]", 30, 0);
    builder_run(&b, main, "step@/src/train.py:7:9 > run!libmge.so", 10, 10);
    profile_end(b.p, INT64_C(60) * NS_PER_MS);
    write_profile(b.p, 0);
    assert_string(0, "");
    for (size_t i = 0; i < 4; i++) {
        static const char *const types[] = {"wall", "cpu", "wait-cpu", "off-cpu"};
        assert_string(in(top(TYPE, i), 1, 0).value, types[i]);
        assert_string(in(top(TYPE, i), 2, 0).value, "nanoseconds");
    }
    ck_assert_uint_eq(count(SAMPLE), 2);
    struct field runs = top(SAMPLE, 0);
    struct field waits = top(SAMPLE, 1);
    assert_frame(runs, 0, "run");
    assert_frame(runs, 1, "step");
    assert_frame(waits, 0, "read pipe [blocked]");
    ck_assert_uint_eq(packed(in(runs, 2, 0), 0), (uint64_t)30 * NS_PER_MS);
    ck_assert_uint_eq(packed(in(runs, 2, 0), 1), (uint64_t)30 * NS_PER_MS);
    ck_assert_uint_eq(packed(in(waits, 2, 0), 1), 0);
    ck_assert_uint_eq(packed(in(waits, 2, 0), 3), (uint64_t)30 * NS_PER_MS);
    assert_string(in(in(runs, 3, 0), 1, 0).value, "thread");
    assert_string(in(in(runs, 3, 0), 2, 0).value, "main 10");
    profile_free(b.p);
}
END_TEST

/* The totals are the kernel's, whatever the samples found. */
START_TEST(what_no_sample_found_is_a_sample_of_its_own)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "step@/src/train.py:7:9", 20, 15);
    builder_missed(&b, main, 100);
    profile_get_thread(b.p, main)->counts = (struct counts){
        .ns = {15 * (int64_t)NS_PER_MS, 2 * (int64_t)NS_PER_MS, 103 * (int64_t)NS_PER_MS}};
    profile_end(b.p, INT64_C(120) * NS_PER_MS);
    write_profile(b.p, 0);
    ck_assert_uint_eq(count(SAMPLE), 2);
    struct field rest = top(SAMPLE, 0);
    static const uint64_t ms[] = {0, 0, 2, 103};
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(packed(in(rest, 2, 0), i), ms[i] * NS_PER_MS);
    assert_frame(rest, 0, "[not sampled]");
    assert_string(in(in(rest, 3, 0), 2, 0).value, "main 10");
    profile_free(b.p);
}
END_TEST

START_TEST(a_function_has_its_file_and_its_module)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "step@/src/train.py:7:9 > run!/opt/a/libmge.so", 20, 20);
    builder_run(&b, main, "load!/opt/a/libio.so", 10, 10);
    profile_end(b.p, INT64_C(30) * NS_PER_MS);
    profile_set_origin(b.p, &(struct profile_origin){.utc_ns = 1234567});
    write_profile(b.p, 0);
    ck_assert_uint_eq(count(MAPPING), 2);
    for (size_t i = 0; i < 2; i++) /* as Parca demands */
        ck_assert_uint_eq(in(top(MAPPING, i), 1, 0).value, i + 1);
    ck_assert_uint_eq(top(9, 0).value, 1234567);
    struct field run = by_id(LOCATION, packed(in(top(SAMPLE, 0), 1, 0), 0));
    struct field step = by_id(LOCATION, packed(in(top(SAMPLE, 0), 1, 0), 1));
    struct field mapping = by_id(MAPPING, in(run, 2, 0).value);
    assert_string(in(mapping, 5, 0).value, "/opt/a/libmge.so");
    assert_string(in(mapping, 6, 0).value, ""); /* the builder's modules have no build id */
    ck_assert_uint_eq(in(step, 2, 0).value, 0);
    struct field function = by_id(FUNCTION, in(in(step, 4, 0), 1, 0).value);
    assert_string(in(function, 4, 0).value, "/src/train.py");
    ck_assert_uint_eq(in(function, 5, 0).value, 7);
    profile_free(b.p);
}
END_TEST

START_TEST(light_paths_fold_to_hold_the_limit)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    for (int i = 0; i < 1000; i++) {
        char stack[64];
        (void)snprintf(stack, sizeof stack, "run!app > leaf%d!app", i);
        builder_run(&b, main, stack, 10, 10);
    }
    profile_end(b.p, INT64_C(10000) * NS_PER_MS);
    write_profile(b.p, 0);
    ck_assert_uint_eq(count(SAMPLE), 1000);
    ck_assert_str_eq(notes.coarsened, "");
    write_profile(b.p, 20000);
    ck_assert_uint_lt(count(SAMPLE), 100);
    ck_assert_str_ne(notes.coarsened, "");
    uint64_t wall_ns = 0;
    for (size_t i = 0; i < count(SAMPLE); i++)
        wall_ns += packed(in(top(SAMPLE, i), 2, 0), 0);
    ck_assert_uint_eq(wall_ns, (uint64_t)10000 * NS_PER_MS);
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("pprof", 20, what_no_sample_found_is_a_sample_of_its_own,
           each_stack_is_one_sample_with_four_times, a_function_has_its_file_and_its_module,
           light_paths_fold_to_hold_the_limit)
