/* Damaged ELF and DWARF: no crash, no hang, no endless memory. */
#include "symbolizer/module_names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbolizer/dwarf_names.h"
#include "tests/support/check_main.h"
#include "tests/support/symbol_names.h"

struct bytes {
    uint8_t *p;
    size_t len;
};

static struct bytes read_variant(const char *variant)
{
    char *path = variant_path(variant);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    struct bytes b = {xmalloc(1 << 24), 0};
    b.len = fread(b.p, 1, 1 << 24, f);
    fclose(f);
    free(path);
    return b;
}

/* Opens the first LEN bytes as a module and looks up addresses all over it. */
static void name_bytes(const char *path, const struct bytes *b, size_t len)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(b->p, 1, len, f), len);
    fclose(f);
    struct names n;
    if (!names_open_path(&n, path))
        return;
    struct location l[MAX_INLINED + 1];
    for (uint64_t addr = 0x1000; addr < 0x3400; addr += 61)
        ck_assert_uint_le(module_names_find(n.names, addr, 0, l), MAX_INLINED + 1);
    names_close(&n);
}

static const char *const hostile_variants[] = {"dwarf5", "dwarf4", "clang", "mini"};

static struct bytes open_hostile(int i, char *path)
{
    char *probe = variant_path(hostile_variants[i]);
    bool built = access(probe, R_OK) == 0;
    free(probe);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    return read_variant(built ? hostile_variants[i] : "dwarf5");
}

START_TEST(truncated_files_are_survived)
{
    char path[] = "/tmp/wallspy-sym-XXXXXX";
    struct bytes b = open_hostile(_i, path);
    for (size_t part = 0; part < 60; part++)
        name_bytes(path, &b, b.len * part / 60);
    unlink(path);
    free(b.p);
}
END_TEST

START_TEST(flipped_bytes_are_survived)
{
    char path[] = "/tmp/wallspy-sym-XXXXXX";
    struct bytes b = open_hostile(_i, path);
    uint64_t random = 99 + (uint64_t)_i;
    for (int round = 0; round < 60; round++) {
        struct bytes copy = {xmalloc(b.len), b.len};
        memcpy(copy.p, b.p, b.len);
        for (int flips = 0; flips < 1 << (round % 10); flips++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            /* half of them behind the code: symbols, DWARF, section headers */
            size_t from = flips % 2 ? b.len / 4 : 0;
            copy.p[from + (random >> 24) % (b.len - from)] ^= (uint8_t)(1 << (random >> 60 & 7));
        }
        name_bytes(path, &copy, copy.len);
        free(copy.p);
    }
    unlink(path);
    free(b.p);
}
END_TEST

int main(void)
{
    const int n = sizeof hostile_variants / sizeof *hostile_variants;
    Suite *suite = suite_create("symbolizer_hostile");
    TCase *tcase = tcase_create("damaged");
    tcase_set_timeout(tcase, 40);
    tcase_add_loop_test(tcase, truncated_files_are_survived, 0, n);
    tcase_add_loop_test(tcase, flipped_bytes_are_survived, 0, n);
    suite_add_tcase(suite, tcase);
    return check_end(suite);
}
