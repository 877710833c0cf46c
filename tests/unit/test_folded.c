#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "exporter/exporter.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static char *written;
static size_t written_len;
static struct export_notes notes; /* of the last file */

/* Writes P into WRITTEN. */
static void write_profile(const struct profile *p, const char *format, uint64_t max_bytes)
{
    free(written);
    FILE *out = open_memstream(&written, &written_len);
    const struct view_options options = {0};
    const struct exporter *e = exporter_by_name(format);
    ck_assert_int_eq(exporter_write(e, p, &options, NULL, max_bytes, out, &notes), 0);
    (void)fclose(out);
}

START_TEST(folded_is_one_line_a_stack)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "a;b!app > read pipe [blocked]", 20, 0);
    builder_run(&b, main, "a;b!app", 10, 10);
    builder_run(&b, main, "a;b!app > read pipe [blocked]", 30, 0);
    builder_missed(&b, main, 5);
    profile_end(b.p, INT64_C(65) * NS_PER_MS);
    write_profile(b.p, "raw", 0);
    ck_assert_str_eq(written, "main 10;a:b 10000\n"
                              "main 10;a:b;read pipe [blocked] 50000\n");
    profile_free(b.p);
}
END_TEST

START_TEST(folded_stacks_stay_below_the_limit)
{
    enum { LIMIT = 1 << 20, RUNS = 3000 };
    struct profile *p = profile_new(0);
    process_id process = profile_process(p, &(struct profile_process){.pid = 1});
    thread_id t = profile_thread(p, process, 1, profile_string(p, "t"), 0);
    struct run run = {.state = RUN_RUNNING, .weights.wall_ns = NS_PER_MS};
    stack_id root = {0};
    for (int i = 0; i < 50; i++)
        root = profile_push(p, root, profile_mark(p, "a_name_of_twenty_chars", NULL));
    for (int i = 0; i < RUNS; i++, run.start_ns += run.weights.wall_ns) {
        struct text name = {0};
        text_addf(&name, "leaf%d", i);
        run.at.stack = profile_push(p, root, profile_mark(p, name.s, NULL));
        text_release(&name);
        profile_add_run(p, t, &run);
    }
    profile_end(p, run.start_ns);
    notes.stacks_shortened = 1; /* what an earlier file gave up */
    write_profile(p, "folded", LIMIT);
    ck_assert_uint_lt(written_len, LIMIT);
    ck_assert_str_eq(notes.coarsened, "paths under 0.1% folded");
    ck_assert_uint_eq(notes.stacks_shortened, 0);
    ck_assert_ptr_nonnull(strstr(written, "a_name_of_twenty_chars 3000000\n"));
    profile_free(p);
}
END_TEST

CHECK_MAIN("folded", 60, folded_is_one_line_a_stack, folded_stacks_stay_below_the_limit)
