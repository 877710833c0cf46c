#include "worker/runtimes.h"

#include <string.h>

#include "base/text.h"
#include "tests/support/check_main.h"

/* Of a process that has PATHS mapped, split at spaces. */
static struct runtimes found_in(const char *paths, const char *environment)
{
    struct maps maps = {0};
    struct text text = {0};
    struct runtimes ret;
    unsigned at = 1;
    for (const char *s = paths; *s; s += strspn(s, " "), at++) {
        size_t len = strcspn(s, " ");
        text_addf(&text, "%x000-%x000 r-xp 00000000 08:01 %u %.*s\n", at, at + 1, at, (int)len, s);
        s += len;
    }
    ck_assert_int_eq(maps_parse(&maps, text.s, text.len), 0);
    runtimes_find(&maps, environment, &ret);
    maps_release(&maps);
    text_release(&text);
    return ret;
}

static void assert_found(const char *paths, const char *environment, const char *allocator,
                         const char *openmp)
{
    struct runtimes r = found_in(paths, environment);
    ck_assert_str_eq(r.allocator.len ? r.allocator.s : "", allocator);
    ck_assert_str_eq(r.openmp.len ? r.openmp.s : "", openmp);
    text_release(&r.allocator);
    text_release(&r.openmp);
}

START_TEST(allocators_and_openmp_are_known_by_their_files)
{
    assert_found("/usr/bin/app /lib/x86_64-linux-gnu/libc.so.6", "", "glibc", "");
    assert_found("/lib/libc.so.6 /usr/lib/libjemalloc.so.2", "", "jemalloc", "");
    assert_found("/usr/lib/libasan.so.8.0.0 /lib/libc.so.6", "", "AddressSanitizer", "");
    assert_found("/lib/libc.so.6 /usr/lib/libjemalloc.so.2",
                 "LD_PRELOAD=/usr/lib/libjemalloc.so.2 OMP_NUM_THREADS=2", "jemalloc (preloaded)",
                 "");
    assert_found("/usr/lib/libtcmalloc_minimal.so.4 /lib/libc.so.6", "A=b LD_PRELOAD=libfoo.so",
                 "tcmalloc", "");
    assert_found("/usr/lib/libmimalloc.so.2.0 /lib/libc.so.6", "LD_PRELOAD=libmimalloc.so",
                 "mimalloc (preloaded)", "");
    assert_found("/usr/lib/libgomp.so.1 /usr/lib/libgomp.so.1 /opt/libiomp5.so /lib/libc.so.6", "",
                 "glibc", "libgomp, libiomp5");
}
END_TEST

/* A static program has none of these files; nor is an anonymous mapping one. */
START_TEST(what_is_not_seen_is_not_told)
{
    assert_found("/usr/bin/busybox [stack]", "LD_PRELOAD=libjemalloc.so.2", "", "");
    assert_found("/data/my-libjemalloc.so.2 /lib/libc.so.6", "", "glibc", "");
}
END_TEST

CHECK_MAIN("runtimes", 20, allocators_and_openmp_are_known_by_their_files,
           what_is_not_seen_is_not_told)
