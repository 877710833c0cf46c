/* The findings in the file: what they speak of, as data. */
#include "exporter/findings_block.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_json.h"
#include "tests/support/profile_builder.h"

static const struct view_options view;

static void assert_has(struct profile_builder *b, const char *fields)
{
    profile_end(b->p, 4000L * NS_PER_MS);
    char *json = findings_json(b->p, &view);
    ck_assert_msg(json && strstr(json, fields), "%s is not in %s", fields, json);
    free(json);
    profile_free(b->p);
}

START_TEST(a_finding_has_its_row_of_the_ledger)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    thread_id worker = builder_thread(&b, 11, "worker");
    const struct wait_side side = {.thing = THING_MUTEX,
                                   .addr = 0x1000,
                                   .blocker = {.kind = BLOCKER_THREAD, .pid = 10, .tid = 11}};
    builder_run(&b, lead, "f@/src/a.py:1:5", 1000, 1000);
    builder_held(&b, lead, "f@/src/a.py:1:3 > take!/src/w.so > pthread_mutex_lock!libc.so.6", &side,
                 3000);
    builder_run(&b, worker, "run!/src/w.so > ask!/src/w.so > ioctl /dev/x [blocked]", 4000, 0);
    assert_has(&b, "\"cause\":\"device\",\"group\":\"worker\",\"place\":\"run > ask > ioctl "
                   "/dev/x\",\"waits\":\"f a.py:3 > take > "
                   "mutex\",\"blocker\":\"worker\",\"way\":\"read\",\"seconds\":3,\"ends\":0.75,"
                   "\"bound\":0.75,\"explains\":0.75");
}
END_TEST

START_TEST(what_ends_in_the_leader_itself_has_no_bound)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "f@/src/a.py:1:5", 4000, 4000);
    assert_has(&b, "\"rule\":\"computes\",\"about\":\"main\",\"cause\":\"computes\"");
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "f@/src/a.py:1:5", 4000, 4000);
    assert_has(&b, "\"way\":\"own\",\"seconds\":4,\"ends\":1,\"bound\":null,\"explains\":1");
}
END_TEST

CHECK_MAIN("findings_block", 20, a_finding_has_its_row_of_the_ledger,
           what_ends_in_the_leader_itself_has_no_bound)
