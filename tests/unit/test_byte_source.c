#include "fleet/byte_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tests/support/check_main.h"

enum { SHORT_MS = 50 };

static char path[] = "/tmp/wallspy-bytes-XXXXXX";

static void setup(void)
{
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
}

static void teardown(void)
{
    (void)unlink(path);
}

static void put(const void *bytes, size_t len)
{
    FILE *file = fopen(path, "ab");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

/* Appends TEXT as a member of gzip's, without its last CUT bytes. */
static void put_compressed(const char *text, size_t cut)
{
    unsigned char out[512];
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, 1, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
    z.next_in = (unsigned char *)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = out;
    z.avail_out = sizeof out;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    put(out, z.total_out - cut);
    (void)deflateEnd(&z);
}

/* All that is in the file, and why it ends there; "": it is its end. */
static void expect(const char *bytes, const char *wrong)
{
    struct byte_source s;
    struct text all = {0};
    text_add(&all, "");
    ck_assert_int_eq(byte_source_open(&s, path), 0);
    while (byte_source_more(&s)) {
        text_add_bytes(&all, s.at, (size_t)(s.end - s.at));
        s.at = s.end;
    }
    ck_assert_str_eq(all.s, bytes);
    ck_assert_str_eq(s.wrong ? s.wrong : "", wrong);
    byte_source_close(&s);
    text_release(&all);
}

START_TEST(plain_bytes)
{
    expect("", "");
    put("a", 1);
    expect("a", "");
    put("\x1f", 1);
    expect("a\x1f", "");
}
END_TEST

START_TEST(members_follow_one_another)
{
    put_compressed("first ", 0);
    put_compressed("", 0);
    put_compressed("second", 0);
    expect("first second", "");
    put("\0\0\0 padding", 10);
    expect("first second", "");
}
END_TEST

START_TEST(compressed_bytes_that_are_cut)
{
    put_compressed("whole ", 0);
    put_compressed("cut", 4);
    expect("whole cut", "its compressed bytes end too early");
}
END_TEST

START_TEST(compressed_bytes_that_are_damaged)
{
    put("\x1f\x8b\x08\0\0\0\0\0\0\xff and so on", 20);
    expect("", "its compressed bytes are damaged");
}
END_TEST

/* Neither opening nor reading it waits for ever. */
START_TEST(a_pipe_that_nobody_writes)
{
    struct byte_source s;
    int64_t begin_ns = clock_now_ns();
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(byte_source_open(&s, path), 0);
    s.patience_ms = SHORT_MS;
    ck_assert(!byte_source_more(&s));
    ck_assert_str_eq(s.wrong, "nothing came for 120 s");
    ck_assert_int_ge(clock_now_ns() - begin_ns, SHORT_MS * NS_PER_MS);
    byte_source_close(&s);
}
END_TEST

START_TEST(a_pipe_that_is_written_and_not_closed)
{
    struct byte_source s;
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(byte_source_open(&s, path), 0);
    s.patience_ms = SHORT_MS;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(write(fd, "abc", 3), 3);
    ck_assert_uint_eq(byte_source_ahead(&s, 3), 3);
    ck_assert(memcmp(s.at, "abc", 3) == 0);
    s.at += 3;
    ck_assert(!byte_source_more(&s));
    ck_assert_ptr_nonnull(s.wrong);
    byte_source_close(&s);
    (void)close(fd);
}
END_TEST

START_TEST(bytes_that_bear_nothing_end)
{
    struct byte_source s;
    ck_assert_int_eq(byte_source_open(&s, "/dev/zero"), 0);
    while (byte_source_more(&s)) {
        if (s.all < 100 << 20)
            byte_source_bears(&s);
        s.at = s.end;
    }
    ck_assert_uint_ge(s.all, 164 << 20);
    ck_assert_uint_lt(s.all, 165 << 20);
    ck_assert_str_eq(s.wrong, "there is no dump in 64 MiB of it");
    byte_source_close(&s);
}
END_TEST

CHECK_MAIN_WITH("byte_source", 60, setup, teardown, plain_bytes, members_follow_one_another,
                compressed_bytes_that_are_cut, compressed_bytes_that_are_damaged,
                a_pipe_that_nobody_writes, a_pipe_that_is_written_and_not_closed,
                bytes_that_bear_nothing_end)
