#include "target/mem.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "target/maps.h"
#include "target/mem_blocks.h"
#include "tests/support/check_main.h"
#include "tests/support/mem_image.h"

static uint64_t addr_of(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Two pages, the second without access. */
static char *page_before_a_hole(size_t page)
{
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    memset(pages, 'x', page);
    ck_assert_int_eq(munmap(pages + page, page), 0);
    return pages;
}

static void check_live(void)
{
    struct mem *m;
    ck_assert_int_eq(mem_live_open(&m, getpid(), NULL), 0);
    static const char text[] = "the memory of this process";
    char copy[sizeof text];
    ck_assert_int_eq(mem_read(m, addr_of(text), copy, sizeof copy), 0);
    ck_assert_str_eq(copy, text);

    uint64_t big = 0x1122334455667788;
    uint64_t u64 = 0;
    uint32_t u32 = 0;
    ck_assert_int_eq(mem_read_u64(m, addr_of(&big), &u64), 0);
    ck_assert_uint_eq(u64, big);
    ck_assert_int_eq(mem_read_u32(m, addr_of(&big), &u32), 0);
    ck_assert_uint_eq(u32, 0x55667788);

    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *last = page_before_a_hole(page);
    char *buf = malloc(2 * page);
    ck_assert_int_eq(mem_read(m, addr_of(last), buf, page), 0);
    ck_assert_int_eq(mem_read(m, addr_of(last), buf, page + 1), -EFAULT);
    ck_assert_int_eq(mem_read(m, addr_of(last) + page - 4, buf, 8), -EFAULT);
    ck_assert_int_eq(mem_read_u64(m, addr_of(last) + page - 4, &u64), -EFAULT);
    ck_assert_uint_eq(u64, big);
    static const uint64_t nowhere[] = {0, 8, 1ULL << 47, 1ULL << 63, UINT64_MAX - 7, UINT64_MAX};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        ck_assert_int_eq(mem_read(m, nowhere[i], buf, 8), -EFAULT);
    ck_assert_int_eq(mem_read(m, 0, buf, 0), 0);
    free(buf);
    mem_free(m);
}

START_TEST(live_memory_is_read_by_process_vm_readv)
{
    unsetenv("WALLSPY_NO_VM_READV");
    check_live();
}
END_TEST

START_TEST(live_memory_is_read_by_proc_mem)
{
    setenv("WALLSPY_NO_VM_READV", "1", 1);
    check_live();
}
END_TEST

START_TEST(no_process_is_an_error)
{
    for (int hook = 0; hook < 2; hook++) {
        struct mem *m = NULL;
        struct err err = {0};
        setenv("WALLSPY_NO_VM_READV", hook ? "1" : "0", 1);
        ck_assert_int_eq(mem_live_open(&m, 0x7fffffff, &err), -ESRCH);
        ck_assert_str_eq(err.text, "2147483647: no such process");
        ck_assert_ptr_null(m);
    }
}
END_TEST

/* Waits until the child runs another program; returns where that is mapped. */
static uint64_t wait_for_exec(pid_t pid, uint64_t own)
{
    struct maps maps = {0};
    uint64_t start = 0;
    for (int i = 0; i < 5000 && !start; i++) {
        (void)maps_load(&maps, pid);
        const struct mapping *m = maps_find(&maps, own);
        if (maps.n > 10 && (!m || !str_ends(m->path, "/test_mem")))
            start = maps.items[0].start;
        usleep(1000);
    }
    ck_assert_uint_ne(start, 0);
    maps_release(&maps);
    return start;
}

START_TEST(an_exec_is_followed)
{
    for (int hook = 0; hook < 2; hook++) {
        int fds[2];
        ck_assert_int_eq(pipe(fds), 0);
        pid_t pid = fork();
        if (pid == 0) {
            close(fds[1]);
            (void)!read(fds[0], &pid, 1);
            execlp("sleep", "sleep", "20", NULL);
            _exit(127);
        }
        struct mem *m;
        uint64_t own = addr_of("");
        char byte;
        setenv("WALLSPY_NO_VM_READV", hook ? "1" : "0", 1);
        ck_assert_int_eq(mem_live_open(&m, pid, NULL), 0);
        ck_assert_int_eq(mem_read(m, own, &byte, 1), 0);
        close(fds[1]);
        char head[4];
        uint64_t start = wait_for_exec(pid, own);
        ck_assert_int_eq(mem_read(m, start, head, 4), 0);
        ck_assert_mem_eq(head, "\177ELF", 4);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        ck_assert_int_eq(mem_read(m, start, head, 4), -ESRCH);
        mem_free(m);
    }
}
END_TEST

START_TEST(an_image_holds_what_was_added)
{
    struct mem *m = mem_image_new();
    char buf[16];
    ck_assert_int_eq(mem_read(m, 0x1000, buf, 1), -EFAULT);
    ck_assert_int_eq(mem_image_add(m, 0x2000, "cdefgh", 6), 0);
    ck_assert_int_eq(mem_image_add(m, 0x1ffe, "abcd", 4), 0); /* overlaps the first */
    ck_assert_int_eq(mem_image_add(m, 0x1fff, "bc", 2), 0);   /* within */
    ck_assert_int_eq(mem_image_add(m, 0x2006, "ij", 2), 0);   /* right behind */
    ck_assert_int_eq(mem_image_add(m, 0x3000, "z", 1), 0);
    ck_assert_int_eq(mem_image_add(m, 0x3000, "", 0), 0);
    ck_assert_int_eq(mem_read(m, 0x1ffe, buf, 10), 0);
    ck_assert_mem_eq(buf, "abcdefghij", 10);
    ck_assert_int_eq(mem_read(m, 0x2005, buf, 2), 0);
    ck_assert_mem_eq(buf, "hi", 2);
    static const struct {
        uint64_t addr;
        size_t len;
    } bad[] = {{0x1ffd, 2}, {0x2007, 2}, {0x1ffe, 11}, {0x2fff, 1}, {0x3001, 1}, {UINT64_MAX, 4}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(mem_read(m, bad[i].addr, buf, bad[i].len), -EFAULT);
    ck_assert_int_eq(mem_image_add(m, 0x2008, "k", 1), 0); /* after a read */
    ck_assert_int_eq(mem_read(m, 0x2007, buf, 2), 0);
    ck_assert_mem_eq(buf, "jk", 2);
    mem_free(m);
}
END_TEST

START_TEST(an_image_refuses_absurd_ranges)
{
    struct mem *m = mem_image_new();
    ck_assert_int_eq(mem_image_add(m, UINT64_MAX - 1, "abc", 3), -EINVAL);
    ck_assert_int_eq(mem_image_add(m, 0, "a", SIZE_MAX), -EINVAL);
    ck_assert_int_eq(mem_image_add(m, UINT64_MAX - 3, "abc", 3), 0);
    char buf[3];
    ck_assert_int_eq(mem_read(m, UINT64_MAX - 3, buf, 3), 0);
    mem_free(m);
    ck_assert_ptr_null(mem_free(NULL));
}
END_TEST

START_TEST(blocks_are_kept_until_forgotten)
{
    enum { BLOCK = 256 };
    char buf[4];
    static _Alignas(BLOCK) char bytes[4096];
    struct err err = {0};
    struct mem *live;
    struct mem *blocks = mem_blocks_new();
    ck_assert_int_eq(mem_read(blocks, addr_of(bytes), buf, 1), -EFAULT);
    ck_assert_int_eq(mem_live_open(&live, getpid(), &err), 0);
    mem_blocks_set(blocks, live);
    for (size_t at = 0; at + sizeof buf <= sizeof bytes; at += 97) {
        if (at % BLOCK + sizeof buf > BLOCK) /* two blocks may have one place */
            continue;
        memset(bytes, 1, sizeof bytes);
        ck_assert_int_eq(mem_read(blocks, addr_of(bytes) + at, buf, sizeof buf), 0);
        memset(bytes, 2, sizeof bytes);
        ck_assert_int_eq(mem_read(blocks, addr_of(bytes) + at, buf, sizeof buf), 0);
        ck_assert_mem_eq(buf, "\1\1\1\1", sizeof buf);
        mem_forget(blocks);
        ck_assert_int_eq(mem_read(blocks, addr_of(bytes) + at, buf, sizeof buf), 0);
        ck_assert_mem_eq(buf, "\2\2\2\2", sizeof buf);
        mem_forget(blocks);
    }
    mem_free(live);
    mem_free(blocks);
}
END_TEST

START_TEST(blocks_end_where_memory_ends)
{
    char buf[8];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = page_before_a_hole(page);
    struct err err = {0};
    struct mem *live;
    struct mem *blocks = mem_blocks_new();
    ck_assert_int_eq(mem_live_open(&live, getpid(), &err), 0);
    mem_blocks_set(blocks, live);
    ck_assert_int_eq(mem_read(blocks, addr_of(pages) + page - 8, buf, 8), 0);
    ck_assert_mem_eq(buf, "xxxxxxxx", 8);
    ck_assert_int_eq(mem_read(blocks, addr_of(pages) + page - 4, buf, 8), -EFAULT);
    ck_assert_int_eq(mem_read(blocks, UINT64_MAX - 4, buf, 8), -EFAULT);
    munmap(pages, page);
    mem_free(live);
    mem_free(blocks);
}
END_TEST

CHECK_MAIN("mem", 20, blocks_are_kept_until_forgotten, blocks_end_where_memory_ends,
           live_memory_is_read_by_process_vm_readv, live_memory_is_read_by_proc_mem,
           no_process_is_an_error, an_exec_is_followed, an_image_holds_what_was_added,
           an_image_refuses_absurd_ranges)
