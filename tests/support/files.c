#include "tests/support/files.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void beside_binary(const char *name, char ret[TEST_PATH_BYTES])
{
    char exe[TEST_PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    ck_assert_int_gt(n, 0);
    exe[n] = '\0';
    *strrchr(exe, '/') = '\0';
    ck_assert_int_lt(snprintf(ret, TEST_PATH_BYTES, "%.400s/%.100s", exe, name), TEST_PATH_BYTES);
}

void copy_file(const char *from, const char *to)
{
    char fresh[TEST_PATH_BYTES];
    ck_assert_int_lt(snprintf(fresh, sizeof fresh, "%.500s.new", to), (int)sizeof fresh);
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(fresh, "wb");
    ck_assert(in && out);
    char buf[8192];
    for (size_t n; (n = fread(buf, 1, sizeof buf, in)) > 0;)
        ck_assert_uint_eq(fwrite(buf, 1, n, out), n);
    fclose(in);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(chmod(fresh, 0755), 0);
    ck_assert_int_eq(rename(fresh, to), 0);
}

void patch_file(const char *path, long offset, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, offset, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
    ck_assert_int_eq(fclose(f), 0);
}
