#include "base/child.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/check_main.h"

enum { WAIT_MS = 10000, LAST_FD = 64, FULL_BYTES = 1 << 21 };

/* Between both: the pipe is full, it is empty. */
struct rendezvous {
    int full, empty;
};

static void tell(int fd)
{
    uint64_t one = 1;
    ck_assert_int_eq(write(fd, &one, sizeof one), sizeof one);
}

static void await(int fd)
{
    uint64_t n;
    ck_assert_int_eq(read(fd, &n, sizeof n), sizeof n);
}

/* A write to a pipe that is full fails from here on. */
static void let_writes_fail(void)
{
    for (int fd = STDERR_FILENO + 1; fd < LAST_FD; fd++) {
        struct stat s;
        int flags = fcntl(fd, F_GETFL);
        if (fstat(fd, &s) == 0 && S_ISFIFO(s.st_mode) && (flags & O_ACCMODE) == O_WRONLY)
            (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    }
}

static void write_with_a_failure(void *rendezvous, FILE *out)
{
    const struct rendezvous *r = rendezvous;
    let_writes_fail();
    for (int i = 0; i < FULL_BYTES; i++)
        (void)fputc('a', out);
    (void)fflush(out);
    tell(r->full);
    await(r->empty);
    (void)fputs("what is behind a hole", out);
}

static size_t read_all(struct child *c, struct text *text, int wait_ms)
{
    while (child_read(c, wait_ms, text) > 0)
        ;
    return text->len;
}

START_TEST(a_write_that_fails_leaves_no_hole)
{
    struct rendezvous r = {eventfd(0, 0), eventfd(0, 0)};
    struct child c;
    struct text text = {0};
    ck_assert_int_eq(child_start(&c, "writer", write_with_a_failure, &r), 0);
    await(r.full);
    size_t before = read_all(&c, &text, 0);
    ck_assert_uint_gt(before, 0);
    ck_assert_uint_lt(before, FULL_BYTES);
    tell(r.empty);
    ck_assert_uint_eq(read_all(&c, &text, WAIT_MS), before);
    child_end(&c, NULL);
    text_release(&text);
}
END_TEST

static void write_much(void *unused, FILE *out)
{
    (void)unused;
    for (int i = 0; i < FULL_BYTES; i++)
        (void)fputc('a', out);
}

START_TEST(all_that_is_written_comes)
{
    struct child c;
    struct text text = {0};
    ck_assert_int_eq(child_start(&c, "writer", write_much, NULL), 0);
    ck_assert_uint_eq(read_all(&c, &text, WAIT_MS), FULL_BYTES);
    child_end(&c, NULL);
    text_release(&text);
}
END_TEST

CHECK_MAIN("child", 20, a_write_that_fails_leaves_no_hole, all_that_is_written_comes)
