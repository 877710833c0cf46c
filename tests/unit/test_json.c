#include "exporter/json.h"

#include <errno.h>
#include <math.h>

#include "tests/support/check_main.h"

static const struct {
    const char *raw, *quoted;
} quotes[] = {
    {"", "\"\""},
    {"plain", "\"plain\""},
    {"say \"hi\" \\ /", "\"say \\\"hi\\\" \\\\ /\""},
    {"a\nb\tc\rd\x01\x1f\x7f", "\"a\\nb\\tc\\u000dd\\u0001\\u001f\\u007f\""},
    {"\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x90\x8d", "\"\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x90\x8d\""},
    {"c1 \xc2\x80\xc2\x9b\xc2\xa0", "\"c1 \\u0080\\u009b\xc2\xa0\""},
    {"turned \xe2\x80\xae\xe2\x81\xa6\xe2\x80\xaf", "\"turned \\u202e\\u2066\xe2\x80\xaf\""},
    {"\xff", "\"\\\\xff\""},
    {"cut \xe2\x80", "\"cut \\\\xe2\\\\x80\""},
    {"overlong \xc0\xaf\xe0\x80\xaf", "\"overlong \\\\xc0\\\\xaf\\\\xe0\\\\x80\\\\xaf\""},
    {"surrogate \xed\xa0\x80", "\"surrogate \\\\xed\\\\xa0\\\\x80\""},
    {"too high \xf4\x90\x80\x80", "\"too high \\\\xf4\\\\x90\\\\x80\\\\x80\""},
};

START_TEST(strings_are_quoted)
{
    for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++) {
        struct text out = {0};
        json_quote(&out, quotes[i].raw);
        ck_assert_str_eq(out.s, quotes[i].quoted);
        text_release(&out);
    }
}
END_TEST

START_TEST(values_nest)
{
    char *s = NULL;
    size_t len = 0;
    struct json j = {.out = open_memstream(&s, &len)};
    json_object(&j);
    json_key(&j, "a");
    json_array(&j);
    json_int(&j, -1);
    json_int(&j, 0);
    json_int(&j, INT64_MIN);
    json_int(&j, INT64_MAX);
    json_number(&j, 0.1);
    json_number(&j, 1e300);
    json_number(&j, 12);
    json_number(&j, NAN);
    json_newline(&j);
    json_bool(&j, true);
    json_array(&j);
    json_end_array(&j);
    json_end_array(&j);
    json_key(&j, "b");
    json_string(&j, "x");
    json_string_field(&j, "c", "y");
    json_string_field(&j, "d", NULL);
    json_int_field(&j, "e", -5);
    json_bool_field(&j, "f", false);
    json_number_field(&j, "g", 0.5);
    json_hex_field(&j, "h", 0x1f);
    json_array_field(&j, "i");
    json_hex(&j, UINT64_MAX);
    json_end_array(&j);
    json_end_object(&j);
    ck_assert_int_eq(json_finish(&j), 0);
    (void)fclose(j.out);
    ck_assert_str_eq(s, "{\"a\":[-1,0,-9223372036854775808,9223372036854775807,0.1,1e+300,12,null,"
                        "\ntrue,[]],\"b\":\"x\",\"c\":\"y\",\"d\":null,\"e\":-5,\"f\":false,"
                        "\"g\":0.5,\"h\":\"0x1f\",\"i\":[\"0xffffffffffffffff\"]}\n");
    free(s);
}
END_TEST

START_TEST(the_first_error_is_kept)
{
    struct json j = {.out = fopen("/dev/full", "w")};
    ck_assert_ptr_nonnull(j.out);
    json_array(&j);
    for (int i = 0; i < 100000; i++)
        json_int(&j, i);
    json_end_array(&j);
    ck_assert_int_eq(json_finish(&j), -ENOSPC);
    (void)fclose(j.out);
}
END_TEST

CHECK_MAIN("json", 20, strings_are_quoted, values_nest, the_first_error_is_kept)
