/* What comes through the pipe of a growing recording, changed: the store refuses it, or has a file
 * that gives a profile or one error, whether the recording ends or is cut.
 *
 * Input: a byte that says how it ends; then changes of five bytes each, the place and the value. */
#include <string.h>

#include "recording/growing.h"
#include "recording/recording_file.h"
#include "recording/store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/profile_builder.h"

enum { MOST_CHANGES = 16 };

static struct text whole; /* the entries of a recording that is right */

static void keep_entry(void *ctx, const char *bytes, size_t len)
{
    text_add_bytes(ctx, bytes, len);
}

static void make_whole(void)
{
    struct profile_builder b = builder_start(100, "python3");
    struct growing *g = growing_new(b.p, (struct sink_to){keep_entry, &whole});
    thread_id one = builder_thread(&b, 100, NULL);
    thread_id two = builder_thread(&b, 101, "worker");
    for (int i = 1; i <= 3; i++) {
        builder_run(&b, one, "step@/src/train.py:7:9 > run!libmge.so", 400, 400);
        builder_run(&b, two, i % 2 ? "main!app|/src/a.c:7 > 0x7f0010" : "wait!libc.so.6", 500, 500);
        profile_mark_counts(b.p, one, i * INT64_C(1000000000));
        (void)growing_send(g, i * INT64_C(1000000000), NULL, NULL);
        profile_get_thread(b.p, two)->remade++; /* its rows go and come again */
    }
    growing_free(g);
    profile_free(b.p);
}

static void take_all(struct store *store, const char *bytes, size_t len)
{
    struct entry e;
    struct entry_value end = {.number = 0};
    ssize_t n;
    for (size_t at = 0; (n = entry_parse(&e, bytes + at, len - at)) > 0; at += (size_t)n) {
        FUZZ_CHECK((size_t)n <= len - at);
        if (e.kind < ENTRY_STORE_LAST)
            store_take(store, &e);
        else if (e.kind == ENTRY_COMMIT && entry_next(&e, &end))
            store_commit(store, end.number);
    }
}

static void check_file(struct store *store)
{
    struct err err = {0};
    size_t len = 0;
    const unsigned char *bytes = store_bytes(store, &len);
    struct profile *p = bytes ? recording_bytes_read(bytes, len, "x", &err) : NULL;
    FUZZ_CHECK(p || !bytes || is_plain_text(err.text, strlen(err.text)));
    profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feed f = {bytes, len};
    struct text changed = {0};
    struct err err = {0};
    int64_t end_ns = 0;
    if (!whole.len)
        make_whole();
    text_add_bytes(&changed, whole.s, whole.len);
    bool cut = feed_u8(&f) & 1;
    for (int i = 0; f.left && i < MOST_CHANGES; i++) {
        size_t place = feed_u32(&f) % changed.len;
        changed.s[place] = (char)feed_u8(&f);
    }
    struct store *store = store_new();
    take_all(store, changed.s, changed.len);
    int r = cut ? store_cut(store, &end_ns, &err) : store_end(store, 1, &err);
    FUZZ_CHECK(r == 0 || *err.text);
    if (r == 0)
        check_file(store);
    store_free(store);
    text_release(&changed);
    return 0;
}
