#include "base/text.h"

#include <errno.h>
#include <string.h>

#include "tests/support/check_main.h"

START_TEST(numbers_are_strict)
{
    int64_t n = 42;
    ck_assert_int_eq(parse_whole_i64("17", 0, 100, &n), 0);
    ck_assert_int_eq(n, 17);
    static const char *const bad[] = {
        "", "-", "x", "1x", " 1", "101", "-1", "0x1", "18446744073709551616"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(parse_whole_i64(bad[i], 0, 100, &n), -EINVAL);
    ck_assert_int_eq(n, 17);
    ck_assert_int_eq(parse_whole_i64("-5", -9, 9, &n), 0);
    ck_assert_int_eq(n, -5);
}
END_TEST

START_TEST(hex_stops_at_the_end_given)
{
    uint64_t value = 0;
    const char *s = "ffff8000 rest";
    ck_assert_ptr_eq(parse_u64(s, s + strlen(s), 16, &value), s + 8);
    ck_assert_uint_eq(value, 0xffff8000);
    ck_assert_ptr_eq(parse_u64(s, s + 2, 16, &value), s + 2);
    ck_assert_uint_eq(value, 0xff);
}
END_TEST

START_TEST(text_grows)
{
    struct text t = {0};
    for (int i = 0; i < 1000; i++)
        text_addf(&t, "%03d", i);
    ck_assert_uint_eq(t.len, 3000);
    ck_assert(str_starts(t.s, "000001") && str_ends(t.s, "999"));
    text_clear(&t);
    ck_assert_str_eq(t.s, "");
    text_release(&t);
}
END_TEST

START_TEST(names_are_tamed)
{
    static const struct {
        const char *raw, *tame;
    } cases[] = {
        {"plain \xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x90\x8d",
         "plain \xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x90\x8d"},
        {"a\nb\tc\r\033[2J\x7f", "a?b?c??[2J?"},
        {"c1 \xc2\x9b"
         "31m\xc2\xa0",
         "c1 ?31m\xc2\xa0"},
        {"raw c1 \x9b"
         "31m",
         "raw c1 ?31m"},
        {"cut \xe2\x80", "cut ??"},
        {"\xe2\x80\xaegnp\xe2\x81\xa6.\xe2\x80\xa5", "?gnp?.\xe2\x80\xa5"},
    };
    struct text t = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_clear(&t);
        text_add_tame(&t, cases[i].raw, strlen(cases[i].raw));
        ck_assert_str_eq(t.s, cases[i].tame);
    }
    text_clear(&t);
    text_add_tame(&t, "\xc3\xa9", 1);
    ck_assert_str_eq(t.s, "?");
    text_release(&t);
}
END_TEST

START_TEST(words_wrap_behind_the_indent)
{
    struct text t = {0};
    ck_assert_uint_eq(text_add_wrapped(&t, "one two three\n  four averyverylongword x", 4, 2, 12),
                      3);
    ck_assert_str_eq(t.s, "one two\n  three\n  four\n  averyverylongword\n  x");
    text_clear(&t);
    (void)text_add_wrapped(&t, "\xe2\x80\xa6\xe2\x80\xa6 ab cd ", 0, 0, 5);
    ck_assert_str_eq(t.s, "\xe2\x80\xa6\xe2\x80\xa6 ab\ncd ");
    text_release(&t);
}
END_TEST

START_TEST(a_line_has_its_own_indent)
{
    struct text t = {0};
    ck_assert_str_eq(text_str(&t), "");
    text_add_line(&t, "one two three", 2, 4, 10);
    text_add_line(&t, "", 1, 1, 10);
    ck_assert_str_eq(text_str(&t), "  one two\n    three\n \n");
    text_clear(&t);
    ck_assert_str_eq(text_str(&t), "");
    ck_assert_uint_eq(text_columns(&t, 0), 0);
    text_add(&t, "x\né");
    text_pad(&t, 2, 3, 1);
    text_pad(&t, 2, 4, 2);
    ck_assert_str_eq(t.s, "x\né    ");
    ck_assert_uint_eq(text_columns(&t, 2), 5);
    text_release(&t);
}
END_TEST

START_TEST(characters_are_counted_and_cut)
{
    const char *s = "aé…b"; /* 1, 2, 3 and 1 bytes */
    ck_assert_uint_eq(utf8_columns(s, 7), 4);
    ck_assert_uint_eq(utf8_columns(s, 3), 2);
    ck_assert_uint_eq(utf8_cut(s, 7, 0), 0);
    ck_assert_uint_eq(utf8_cut(s, 7, 2), 3);
    ck_assert_uint_eq(utf8_cut(s, 7, 3), 6);
    ck_assert_uint_eq(utf8_cut(s, 7, 4), 7);
    ck_assert_uint_eq(utf8_cut(s, 2, 9), 2);
    ck_assert_uint_eq(utf8_cut("", 0, 3), 0);
    struct text t = {0};
    text_add_cut(&t, s, 7, 4);
    text_add_cut(&t, s, 7, 3);
    ck_assert_str_eq(t.s, "aé…baé…");
    text_add_tame_cut(&t, "\033[1mred", 4);
    text_add_tame_cut(&t, "", 4);
    ck_assert_str_eq(t.s, "aé…baé…?[1…");
    text_release(&t);
}
END_TEST

START_TEST(a_path_loses_its_middle)
{
    static const struct {
        const char *path, *want;
    } cases[] = {
        {"/mnt/data/2024/notes.txt", "/mnt/data/2024/notes.txt"},
        {"/mnt/ab/data/2024/notes.txt", "/mnt/…/data/2024/notes.txt"},
        {"/mnt/very/long/way/2024/notes.txt", "/mnt/…/way/2024/notes.txt"},
        {"nfs01:/export/long/way/2024/notes", "nfs01:/…/way/2024/notes"},
        {"/mnt/a/notes-of-all-the-years-since.txt", "/mnt/…/notes-of-all-the-y…"},
        {"/mnt/notes-of-all-the-years-since.txt", "/mnt/notes-of-all-the-yea…"},
        {"/notes-of-all-the-years-since.txt", "/notes-of-all-the-years-s…"},
        {"a\nb", "a?b"},
        {"", ""},
    };
    enum { COLUMNS = 26 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text t = {0};
        text_add_path(&t, cases[i].path, COLUMNS);
        ck_assert_str_eq(t.s, cases[i].want);
        text_release(&t);
    }
}
END_TEST

START_TEST(times_are_written_for_people)
{
    static const struct {
        double seconds;
        const char *words;
    } spans[] = {{0.5, "0.5 s"},   {1, "1 s"},          {64, "64 s"},
                 {512, "8.5 min"}, {1024, "17 min"},    {16384, "4.6 h"},
                 {65536, "18 h"},  {1 << 18, "3 days"}, {1 << 24, "194 days"}};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        struct text t = {0};
        text_add_span(&t, spans[i].seconds);
        ck_assert_str_eq(t.s, spans[i].words);
        text_release(&t);
    }
}
END_TEST

START_TEST(large_numbers_are_written_for_people)
{
    static const struct {
        double n;
        const char *text;
    } cases[] = {{0, "0"},
                 {0.4, "0"},
                 {999.4, "999"},
                 {999.6, "1,000"},
                 {1049, "1,000"},
                 {73012, "73,000"},
                 {999960, "1.0 million"},
                 {-1, "0"},
                 {1e6, "1.0 million"},
                 {1234567, "1.2 million"},
                 {1e30, "0"}};
    struct text t = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_clear(&t);
        text_add_thousands(&t, cases[i].n);
        ck_assert_str_eq(t.s, cases[i].text);
    }
    text_release(&t);
}
END_TEST

START_TEST(a_string_is_compared_with_each_of_a_list)
{
    static const char *const list[] = {"lib", ".so", NULL};
    static const char *const none[] = {NULL};
    ck_assert(str_is_one_of(".so", list) && !str_is_one_of("lib.so", list));
    ck_assert(str_starts_any("libc", list) && !str_starts_any("my.so.lib", list));
    ck_assert(str_ends_any("x.so", list) && !str_ends_any("lib.so.6", list));
    ck_assert(str_has_any("x.so.6", list) && !str_has_any("li.s", list));
    ck_assert(!str_starts_any("x", none) && !str_ends_any("x", none) && !str_has_any("x", none));
}
END_TEST

START_TEST(a_character_is_written_as_it_is_read)
{
    static const struct {
        uint32_t c;
        const char *utf8;
    } characters[] = {{'a', "a"},
                      {0x7f, "\x7f"},
                      {0x80, "\xc2\x80"},
                      {0x7ff, "\xdf\xbf"},
                      {0x20ac, "\xe2\x82\xac"},
                      {0xffff, "\xef\xbf\xbf"},
                      {0x10000, "\xf0\x90\x80\x80"},
                      {0x10ffff, "\xf4\x8f\xbf\xbf"}};
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        char s[4];
        size_t n = utf8_put(characters[i].c, s);
        ck_assert_uint_eq(n, strlen(characters[i].utf8));
        ck_assert_mem_eq(s, characters[i].utf8, n);
        ck_assert_uint_eq(utf8_length(s, n), n);
    }
}
END_TEST

CHECK_MAIN("text", 20, a_line_has_its_own_indent, large_numbers_are_written_for_people,
           times_are_written_for_people, numbers_are_strict, hex_stops_at_the_end_given, text_grows,
           names_are_tamed, words_wrap_behind_the_indent, characters_are_counted_and_cut,
           a_path_loses_its_middle, a_string_is_compared_with_each_of_a_list,
           a_character_is_written_as_it_is_read)
