#include "symbolizer/perf_map.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check_main.h"

static char folder[32];
static char path[64];

static void write_map(const char *mode, const char *text)
{
    FILE *f = fopen(path, mode);
    ck_assert_ptr_nonnull(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static struct perf_map *fresh(const char *text)
{
    strcpy(folder, "/tmp/perf_map.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/perf-1.map", folder);
    if (text)
        write_map("w", text);
    return perf_map_new(path, geteuid(), 0);
}

static void done(struct perf_map *m)
{
    perf_map_free(m);
    (void)unlink(path);
    (void)rmdir(folder);
}

/* The name at ADDR, "-" if it has none. */
static void assert_name(struct perf_map *m, uint64_t addr, const char *want)
{
    struct text name = {0};
    bool found = perf_map_find(m, addr, &name);
    ck_assert_str_eq(found ? name.s : "-", want);
    text_release(&name);
}

/* Files are not looked at again too soon. */
static bool refresh_later(struct perf_map *m)
{
    bool changed = false;
    for (int i = 0; i < 200 && !changed; i++) {
        (void)usleep(5000);
        changed = perf_map_refresh(m);
    }
    return changed;
}

START_TEST(lines_name_what_they_cover)
{
    struct perf_map *m = fresh("1000 10 py::f:/a b.py\n"
                               "0x2000 0x20 JS:*g /x/@y/z.js:1:2\n"
                               "3000 8 _ZN3geo3sumEii\n");
    ck_assert(perf_map_refresh(m));
    assert_name(m, 0xfff, "-");
    assert_name(m, 0x1000, "py::f:/a b.py");
    assert_name(m, 0x100f, "py::f:/a b.py");
    assert_name(m, 0x1010, "-");
    assert_name(m, 0x201f, "JS:*g /x/@y/z.js:1:2");
    assert_name(m, 0x3004, "geo::sum");
    ck_assert(!perf_map_refresh(m));
    done(m);
}
END_TEST

START_TEST(later_lines_hide_earlier_ones)
{
    struct perf_map *m =
        fresh("1000 100 whole\n1040 10 part\n1200 100 old\n11f0 20 start\n12f0 20 end\n"
              "1400 10 in\n13f0 30 over\n");
    ck_assert(perf_map_refresh(m));
    assert_name(m, 0x103f, "whole");
    assert_name(m, 0x1040, "part");
    assert_name(m, 0x1050, "whole");
    assert_name(m, 0x10ff, "whole");
    assert_name(m, 0x120f, "start");
    assert_name(m, 0x1210, "old");
    assert_name(m, 0x12ef, "old");
    assert_name(m, 0x12f0, "end");
    assert_name(m, 0x1405, "over");
    done(m);
}
END_TEST

START_TEST(what_is_appended_is_read_once_its_line_is_whole)
{
    struct perf_map *m = fresh(NULL);
    ck_assert(!perf_map_refresh(m));
    write_map("w", "1000 10 first\n2000 10 secon");
    ck_assert(refresh_later(m));
    assert_name(m, 0x1000, "first");
    assert_name(m, 0x2000, "-");
    write_map("a", "d\n1008 10 third\n");
    ck_assert(refresh_later(m));
    assert_name(m, 0x2000, "second");
    assert_name(m, 0x1007, "first");
    assert_name(m, 0x1008, "third");
    write_map("w", "5000 10 new\n"); /* cut, and begun anew */
    ck_assert(refresh_later(m));
    assert_name(m, 0x1000, "-");
    assert_name(m, 0x5000, "new");
    done(m);
}
END_TEST

START_TEST(nonsense_is_left_out)
{
    char long_line[200000];
    memset(long_line, 'a', sizeof long_line);
    long_line[sizeof long_line - 1] = 0;
    struct perf_map *m = fresh("\n \n1000\n1000 10\n1000 10 \nx 10 f\n1000 0 empty\n"
                               "ffffffffffffffff 10 wraps\n10000000000000000 10 too_large\n"
                               "1000 -5 negative\n2000  10 two_spaces\n");
    write_map("a", long_line);
    write_map("a", "\n3000 10 good\n4000 10 ");
    write_map("a", long_line);
    write_map("a", "\n5000 10 last\n");
    ck_assert(perf_map_refresh(m));
    assert_name(m, 0x1000, "-");
    assert_name(m, 0x2000, "-");
    assert_name(m, 0x3000, "good");
    assert_name(m, 0x5000, "last");
    done(m);
}
END_TEST

START_TEST(any_lines_agree_with_the_slow_way)
{
    enum { N = 60, SPAN = 300 };
    for (uint64_t round = 0, random = 1; round < 50; round++) {
        uint64_t start[N], len[N];
        struct perf_map *m = fresh("");
        FILE *f = fopen(path, "w");
        for (size_t i = 0; i < N; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            start[i] = (random >> 33) % SPAN + 1;
            len[i] = (random >> 50) % 40 + 1;
            (void)fprintf(f, "%lx %lx %zu\n", (unsigned long)start[i], (unsigned long)len[i], i);
        }
        (void)fclose(f);
        ck_assert(perf_map_refresh(m));
        for (uint64_t addr = 0; addr < SPAN + 50; addr++) {
            char want[24] = "-";
            for (size_t i = 0; i < N; i++)
                if (addr - start[i] < len[i])
                    (void)snprintf(want, sizeof want, "%zu", i);
            assert_name(m, addr, want);
        }
        done(m);
    }
}
END_TEST

START_TEST(files_of_others_and_older_ones_are_not_read)
{
    struct perf_map *m = fresh("1000 10 f\n");
    perf_map_free(m);
    m = perf_map_new(path, geteuid(),
                     time(NULL) + 3600); /* the process began after it was written */
    ck_assert(!perf_map_refresh(m));
    perf_map_free(m);
    if (!check_skips(geteuid() != 0, "only root has files of others")) {
        ck_assert_int_eq(chown(path, 65534, 65534), 0);
        m = perf_map_new(path, 1000, 0);
        ck_assert(!perf_map_refresh(m));
        perf_map_free(m);
        m = perf_map_new(path, 65534, 0);
        ck_assert(perf_map_refresh(m));
        perf_map_free(m);
    }
    char other[80];
    (void)snprintf(other, sizeof other, "%s/link", folder);
    ck_assert_int_eq(symlink(path, other), 0);
    m = perf_map_new(other, geteuid(), 0);
    ck_assert(!perf_map_refresh(m));
    perf_map_free(m);
    (void)unlink(other);
    ck_assert_int_eq(mkfifo(other, 0600), 0);
    m = perf_map_new(other, geteuid(), 0);
    ck_assert(!perf_map_refresh(m));
    (void)unlink(other);
    done(m);
}
END_TEST

/* N lines over ADDRESSES addresses from 0x1000 on, 16 bytes each.  Their names are their
 * numbers, of WIDTH digits. */
static struct perf_map *many_lines(uint32_t n, uint32_t addresses, int width)
{
    struct perf_map *m = fresh("");
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_int_gt(fprintf(f, "%x 10 %0*u\n", 0x1000 + i % addresses * 16, width, i), 0);
    (void)fclose(f);
    return m;
}

START_TEST(of_many_lines_the_last_counts)
{
    struct perf_map *m = many_lines(1200000, 1000, 1);
    ck_assert(perf_map_refresh(m));
    assert_name(m, 0x1000, "1199000");
    assert_name(m, 0x1000 + 999 * 16, "1199999");
    done(m);
}
END_TEST

START_TEST(nothing_has_a_name_before_the_file_was_read_to_its_end)
{
    enum { WIDTH = 170 };
    struct perf_map *m = many_lines(400000, 10, WIDTH); /* 72 MB */
    (void)perf_map_refresh(m);
    assert_name(m, 0x1000, "-");
    ck_assert(perf_map_finish(m));
    char want[WIDTH + 1];
    (void)snprintf(want, sizeof want, "%0*u", WIDTH, 399990);
    assert_name(m, 0x1000, want);
    ck_assert(!perf_map_finish(m));
    assert_name(m, 0x1000, want);
    done(m);
}
END_TEST

START_TEST(of_too_much_code_nothing_is_named)
{
    struct perf_map *m = many_lines((1 << 20) + 1000, UINT32_MAX, 1);
    (void)perf_map_finish(m);
    assert_name(m, 0x1000, "-");
    done(m);
}
END_TEST

CHECK_MAIN("perf_map", 30, of_many_lines_the_last_counts,
           nothing_has_a_name_before_the_file_was_read_to_its_end,
           of_too_much_code_nothing_is_named, lines_name_what_they_cover,
           later_lines_hide_earlier_ones, what_is_appended_is_read_once_its_line_is_whole,
           nonsense_is_left_out, any_lines_agree_with_the_slow_way,
           files_of_others_and_older_ones_are_not_read)
