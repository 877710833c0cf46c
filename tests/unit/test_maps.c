#include "target/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/check_main.h"

static int parse(struct maps *maps, const char *text)
{
    return maps_parse(maps, text, strlen(text));
}

START_TEST(a_map_is_read)
{
    struct maps maps = {0};
    ck_assert_int_eq(
        parse(&maps, "00400000-0040b000 r-xp 00001000 fd:01 1234                 /bin/a b\n"
                     "0040b000-0040c000 rw-s 00000000 00:00 0 \n"
                     "0040d000-0040e000 ---p 00000000 00:00 0\n"
                     "7f0000000000-7f0000001000 r--p 00000000 103:0a 9   /x\\012y\\040z (deleted)\n"
                     "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n"),
        0);
    ck_assert_uint_eq(maps.n, 5);
    ck_assert_uint_eq(maps.generation, 1);
    const struct mapping *m = maps.items;
    ck_assert_uint_eq(m[0].start, 0x400000);
    ck_assert_uint_eq(m[0].end, 0x40b000);
    ck_assert_uint_eq(m[0].prot, PROT_READ | PROT_EXEC);
    ck_assert_uint_eq(m[0].file_offset, 0x1000);
    ck_assert_uint_eq(m[0].dev_major, 0xfd);
    ck_assert_uint_eq(m[0].dev_minor, 1);
    ck_assert_uint_eq(m[0].inode, 1234);
    ck_assert_str_eq(m[0].path, "/bin/a b");
    ck_assert_str_eq(m[1].path, "");
    ck_assert_uint_eq(m[1].prot, PROT_READ | PROT_WRITE);
    ck_assert(m[1].shared && !m[0].shared && !m[2].shared);
    ck_assert_str_eq(m[2].path, "");
    ck_assert_str_eq(m[3].path, "/x\ny\\040z");
    ck_assert_uint_eq(m[3].dev_major, 0x103);
    ck_assert(m[3].deleted && !m[0].deleted);
    ck_assert_str_eq(m[4].path, "[vsyscall]");
    maps_release(&maps);
}
END_TEST

/* Of many processes each has its own. */
START_TEST(mappings_of_one_file_share_its_path)
{
    struct maps maps = {0};
    ck_assert_int_eq(parse(&maps, "1000-2000 r--p 0 8:1 7   /lib/a.so\n"
                                  "2000-3000 r-xp 1000 8:1 7   /lib/a.so\n"
                                  "3000-4000 rw-p 0 0:0 0\n"
                                  "4000-5000 r--p 0 8:1 8   /lib/a.so.1\n"
                                  "5000-6000 r--p 0 8:1 7   /lib/a.so (deleted)\n"),
                     0);
    const struct mapping *m = maps.items;
    ck_assert_str_eq(m[0].path, "/lib/a.so");
    ck_assert_ptr_eq(m[1].path, m[0].path);
    ck_assert_str_eq(m[2].path, "");
    ck_assert_str_eq(m[3].path, "/lib/a.so.1");
    ck_assert_str_eq(m[4].path, "/lib/a.so");
    ck_assert(m[4].deleted);
    maps_release(&maps);
}
END_TEST

START_TEST(an_address_is_found_between_start_and_end)
{
    struct maps maps = {0};
    ck_assert_ptr_null(maps_find(&maps, 0x1000));
    ck_assert_int_eq(parse(&maps, "1000-2000 r--p 0 0:0 0\n2000-3000 r--p 0 0:0 0\n"
                                  "5000-6000 r--p 0 0:0 0\n"),
                     0);
    static const struct {
        uint64_t addr;
        int item;
    } cases[] = {{0, -1},      {0xfff, -1}, {0x1000, 0}, {0x1fff, 0},  {0x2000, 1},     {0x2fff, 1},
                 {0x3000, -1}, {0x5000, 2}, {0x5fff, 2}, {0x6000, -1}, {UINT64_MAX, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_ptr_eq(maps_find(&maps, cases[i].addr),
                         cases[i].item < 0 ? NULL : &maps.items[cases[i].item]);
    maps_release(&maps);
}
END_TEST

START_TEST(malformed_text_changes_nothing)
{
    static const char good[] = "1000-2000 r--p 0 0:0 0\n";
    static const char *const bad[] = {
        "\n",
        "1000\n",
        "1000-2000 r--p 0 0:0 0",                           /* no newline */
        "2000-1000 r--p 0 0:0 0\n",                         /* ends before it starts */
        "1000-1000 r--p 0 0:0 0\n",                         /* empty */
        "1000-2000 rr-p 0 0:0 0\n",                         /* permissions */
        "1000-2000 r--x 0 0:0 0\n",                         /* neither private nor shared */
        "1000-2000 r--p -1 0:0 0\n",                        /* sign */
        "1000-2000 r--p 0 0 0\n",                           /* no device */
        "1000-2000 r--p 0 100000000:0 0\n",                 /* device too large */
        "1000-2000 r--p 0 0:0 \n",                          /* no inode */
        "1000-2000 r--p 0 0:0 1x\n",                        /* inode */
        " 1000-2000 r--p 0 0:0 0\n",                        /* leading space */
        "1000-10000000000000000 r--p 0 0:0 0\n",            /* 65 bits */
        "1000-2000 r--p 0 0:0 0\n1fff-3000 r--p 0 0:0 0\n", /* overlap */
        "3000-4000 r--p 0 0:0 0\n1000-2000 r--p 0 0:0 0\n", /* order */
    };
    struct maps maps = {0};
    ck_assert_int_eq(parse(&maps, good), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(parse(&maps, bad[i]) == -EPROTO, "%s", bad[i]);
    static const char with_nul[] = "1000-2000 r--p 0 0:0 0 /a\0b\n";
    ck_assert_int_eq(maps_parse(&maps, with_nul, sizeof with_nul - 1), -EPROTO);
    ck_assert_uint_eq(maps.n, 1);
    ck_assert_uint_eq(maps.generation, 1);
    maps_release(&maps);
}
END_TEST

START_TEST(every_cut_of_a_map_is_refused_or_parsed)
{
    static const char text[] = "1000-2000 r-xp 00000000 08:01 77   /lib/a\\012b (deleted)\n"
                               "3000-4000 rw-p 00000000 00:00 0 \n";
    for (size_t len = 0; len < sizeof text - 1; len++) {
        struct maps maps = {0};
        char *copy = malloc(len + 1); /* exact, so that valgrind sees a read beyond */
        memcpy(copy, text, len);
        int r = maps_parse(&maps, copy, len);
        ck_assert_int_eq(r, len == 0 || text[len - 1] == '\n' ? 0 : -EPROTO);
        free(copy);
        maps_release(&maps);
    }
}
END_TEST

START_TEST(the_kernel_says_where_no_code_is)
{
    int local = 0;
    bool can = maps_no_code_at(getpid(), 0x1000); /* Linux 6.11 */
    ck_assert(!maps_no_code_at(getpid(), (uint64_t)(uintptr_t)maps_load));
    ck_assert_int_eq(maps_no_code_at(getpid(), (uint64_t)(uintptr_t)&local), can);
    ck_assert_int_eq(maps_no_code_at(getpid(), UINT64_MAX), can);
    ck_assert(!maps_no_code_at(0, 0x1000)); /* no process */
}
END_TEST

/* N mappings with paths of 4000 bytes. */
static int file_of_long_maps(uint64_t n)
{
    int fd = memfd_create("maps", MFD_CLOEXEC);
    FILE *f = fdopen(dup(fd), "w");
    for (uint64_t i = 1; i <= n; i++)
        (void)fprintf(f, "%08" PRIx64 "-%08" PRIx64 " r--p 0 8:1 9 /%03999d\n", i << 12,
                      (i + 1) << 12, 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

START_TEST(what_is_beyond_the_most_text_is_left_out)
{
    static const size_t all[] = {100, 20000}; /* 80 MB */
    for (size_t i = 0; i < 2; i++) {
        struct maps maps = {0};
        int fd = file_of_long_maps(all[i]);
        ck_assert_int_eq(maps_read(&maps, fd), 0);
        ck_assert_int_eq(maps.cut, i == 1);
        ck_assert_uint_eq(maps.n, i ? (64 << 20) / 4032 : 100);
        ck_assert_ptr_nonnull(maps_find(&maps, maps.n << 12));
        close(fd);
        maps_release(&maps);
    }
}
END_TEST

START_TEST(generation_counts_changes)
{
    struct maps maps = {0};
    ck_assert_int_eq(maps_load(&maps, getpid()), 0);
    uint32_t before = maps.generation;
    void *page = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    ck_assert_int_eq(mprotect(page, 1 << 19, PROT_NONE), 0);
    ck_assert_int_eq(maps_load(&maps, getpid()), 0);
    ck_assert_uint_gt(maps.generation, before);
    const struct mapping *m = maps_find(&maps, (uint64_t)(uintptr_t)page);
    ck_assert_ptr_nonnull(m);
    ck_assert_uint_eq(m->prot, 0);
    const struct mapping *own = maps_find(&maps, (uint64_t)(uintptr_t)&parse);
    ck_assert_ptr_nonnull(own);
    ck_assert(own->prot & PROT_EXEC);
    ck_assert(str_ends(own->path, "/test_maps"));
    ck_assert_int_eq(maps_load(&maps, 0x7fffffff), -ESRCH);
    /* Not maps_ask()'s -ENOENT: nothing is mapped there. */
    ck_assert_int_eq(maps_open(0x7fffffff), -ESRCH);
    maps_release(&maps);

    ck_assert_int_eq(parse(&maps, "1000-2000 r--p 0 0:0 0\n"), 0);
    ck_assert_int_eq(parse(&maps, "1000-2000 r--p 0 0:0 0\n"), 0);
    ck_assert_uint_eq(maps.generation, 1);
    maps_release(&maps);
}
END_TEST

CHECK_MAIN("maps", 20, a_map_is_read, mappings_of_one_file_share_its_path,
           an_address_is_found_between_start_and_end, malformed_text_changes_nothing,
           every_cut_of_a_map_is_refused_or_parsed, what_is_beyond_the_most_text_is_left_out,
           generation_counts_changes, the_kernel_says_where_no_code_is)
