#include "profile/profile.h"

#include <stdio.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

START_TEST(strings_are_interned_and_stay)
{
    struct profile *p = profile_new(0);
    string_id a = profile_string(p, "a");
    const char *text = profile_text(p, a);
    char name[32];
    for (int i = 0; i < 10000; i++) {
        ck_assert_int_gt(snprintf(name, sizeof name, "s%d", i), 0);
        profile_string(p, name);
    }
    ck_assert_ptr_eq(profile_text(p, a), text);
    ck_assert_uint_eq(profile_string(p, "a").ix, a.ix);
    ck_assert_uint_eq(profile_string_n(p, "a\0b", 3).ix, a.ix);
    ck_assert_uint_eq(profile_string_n(p, "abc", 1).ix, a.ix);
    ck_assert_uint_ne(profile_string(p, "").ix, 0);
    ck_assert_str_eq(profile_text(p, (string_id){0}), "");
    profile_free(p);
}
END_TEST

START_TEST(modules_and_functions_are_interned)
{
    struct profile *p = profile_new(0);
    struct profile_module m = {.name = profile_string(p, "libc.so.6"),
                               .path = profile_string(p, "/lib/libc.so.6"),
                               .bias = 0x1000};
    module_id libc = profile_module(p, &m);
    ck_assert_uint_eq(profile_module(p, &m).ix, libc.ix);
    m.file = 1;
    ck_assert_uint_ne(profile_module(p, &m).ix, libc.ix);
    m.file = 0;
    m.bias = 0x2000;
    ck_assert_uint_ne(profile_module(p, &m).ix, libc.ix);
    ck_assert_uint_eq(profile_get_module(p, libc)->bias, 0x1000);

    struct func f = {.name = m.name, .file = m.path, .first_line = 7};
    func_id func = profile_func(p, &f);
    ck_assert_uint_eq(profile_func(p, &f).ix, func.ix);
    f.first_line = 8;
    ck_assert_uint_ne(profile_func(p, &f).ix, func.ix);
    ck_assert_uint_eq(profile_get_func(p, func)->first_line, 7);
    profile_free(p);
}
END_TEST

START_TEST(a_flagged_frame_stays_the_same)
{
    struct profile *p = profile_new(0);
    struct frame f = {.kind = FRAME_NATIVE, .native = {{1}, 0x10}};
    frame_id id = profile_frame(p, &f);
    profile_flag_frame(p, id, FRAME_IS_INTERPRETER);
    ck_assert_uint_eq(profile_get_frame(p, id)->flags, FRAME_IS_INTERPRETER);
    ck_assert_uint_ne(profile_frame(p, &f).ix, id.ix);
    f.flags = FRAME_IS_INTERPRETER;
    ck_assert_uint_eq(profile_frame(p, &f).ix, id.ix);
    profile_free(p);
}
END_TEST

START_TEST(frames_differ_in_each_part)
{
    struct profile *p = profile_new(0);
    struct frame base = {.kind = FRAME_NATIVE, .native = {{1}, 0x10}};
    frame_id id = profile_frame(p, &base);
    ck_assert_uint_eq(profile_frame(p, &base).ix, id.ix);
    struct frame others[] = {
        {.kind = FRAME_NATIVE, .native = {{2}, 0x10}},
        {.kind = FRAME_NATIVE, .native = {{1}, 0x11}},
        {.kind = FRAME_NATIVE, .flags = FRAME_IS_GUESSED, .native = {{1}, 0x10}},
        {.kind = FRAME_PYTHON, .python = {{1}, 0x10}},
        {.kind = FRAME_PYTHON, .python = {{1}, 0x11}},
        {.kind = FRAME_MARK, .mark = {{1}, {0x10}}},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_uint_eq(profile_frame(p, &others[i]).ix, id.ix + 1 + i);
    ck_assert_uint_eq(profile_frame_count(p), 7);
    ck_assert_int_eq(profile_get_frame(p, id)->kind, FRAME_NATIVE);
    profile_free(p);
}
END_TEST

START_TEST(locations_may_come_in_any_order_and_again)
{
    struct profile *p = profile_new(0);
    frame_id a = profile_mark(p, "a", NULL);
    frame_id b = profile_mark(p, "b", NULL);
    size_t n = 9;
    ck_assert_ptr_null(profile_locations(p, b, &n));
    ck_assert_uint_eq(n, 0);
    struct location two[] = {{.line = 1, .inlined = true}, {.line = 2}};
    profile_locate(p, b, two, 2);
    ck_assert_ptr_null(profile_locations(p, a, &n));
    ck_assert_uint_eq(profile_locations(p, b, &n)[1].line, 2);
    ck_assert_uint_eq(n, 2);
    profile_locate(p, b, &two[1], 1);
    ck_assert_uint_eq(profile_locations(p, b, &n)[0].line, 2);
    ck_assert_uint_eq(n, 1);
    profile_free(p);
}
END_TEST

START_TEST(stacks_share_their_prefix)
{
    struct profile *p = profile_new(0);
    frame_id outer = profile_mark(p, "outer", NULL);
    frame_id inner = profile_mark(p, "inner", NULL);
    stack_id one = profile_push(p, (stack_id){0}, outer);
    stack_id two = profile_push(p, one, inner);
    ck_assert_uint_eq(profile_push(p, one, inner).ix, two.ix);
    ck_assert_uint_ne(profile_push(p, two, inner).ix, two.ix);
    ck_assert_uint_eq(profile_stack_count(p), 3);
    ck_assert_uint_eq(profile_stack_frame(p, two).ix, inner.ix);
    ck_assert_uint_eq(profile_stack_parent(p, two).ix, one.ix);
    ck_assert_uint_eq(profile_stack_depth(p, two), 2);
    ck_assert_uint_eq(profile_stack_depth(p, (stack_id){0}), 0);
    profile_free(p);
}
END_TEST

static thread_id some_thread(struct profile *p)
{
    struct profile_process process = {.pid = 1};
    process_id id = profile_process(p, &process);
    return profile_thread(p, id, 1, profile_string(p, "main"), 0);
}

START_TEST(equal_runs_that_touch_are_joined)
{
    struct profile *p = profile_new(0);
    thread_id t = some_thread(p);
    stack_id s = profile_push(p, (stack_id){0}, profile_mark(p, "f", NULL));
    struct run run = {.at.stack = s,
                      .state = RUN_RUNNING,
                      .samples = 1,
                      .weights = {.wall_ns = 10, .counted_ns = 9}};
    for (run.start_ns = 0; run.start_ns < 50; run.start_ns += 10)
        profile_add_run(p, t, &run);
    const struct profile_thread *thread = profile_see_thread(p, t);
    ck_assert_uint_eq(thread->n_runs, 1);
    ck_assert_int_eq(thread->runs[0].weights.wall_ns, 50);
    ck_assert_int_eq(thread->runs[0].weights.counted_ns, 45);
    ck_assert_uint_eq(thread->runs[0].samples, 5);

    run.state = RUN_BLOCKED; /* another state */
    profile_add_run(p, t, &run);
    run.start_ns = 70; /* a gap before it */
    profile_add_run(p, t, &run);
    ck_assert_uint_eq(profile_see_thread(p, t)->n_runs, 3);
    profile_free(p);
}
END_TEST

/* Known stacks go on being stored by id; memory stays where it is; no time is lost. */
START_TEST(an_ended_thread_takes_no_more_room_than_it_needs)
{
    struct profile *p = profile_new(0);
    thread_id t = some_thread(p);
    stack_id s = profile_push(p, (stack_id){0}, profile_mark(p, "f", NULL));
    struct run run = {.at.stack = s, .state = RUN_RUNNING, .samples = 1, .weights.wall_ns = 10};
    profile_end_thread(p, t, 0);
    profile_add_run(p, t, &run);
    profile_end_thread(p, t, 10);
    ck_assert_uint_eq(profile_see_thread(p, t)->runs_capacity, 1);
    ck_assert_int_eq(profile_see_thread(p, t)->end_ns, 10);
    run.start_ns = 20;
    profile_add_run(p, t, &run);
    ck_assert_uint_eq(profile_see_thread(p, t)->n_runs, 2);
    ck_assert_int_eq(profile_see_thread(p, t)->runs[0].start_ns, 0);
    profile_free(p);
}
END_TEST

START_TEST(past_the_limit_new_stacks_are_refused)
{
    enum { LIMIT = 1 << 16, TICKS = 100000 };
    struct profile *p = profile_new(LIMIT);
    thread_id t = some_thread(p);
    frame_id f = profile_mark(p, "f", NULL);
    stack_id first = profile_push(p, (stack_id){0}, f);
    stack_id s = {0};
    for (int i = 0; i < TICKS; i++) {
        s = profile_push(p, s, f);
        struct run run = {.at.stack = s,
                          .state = i % 2 ? RUN_BLOCKED : RUN_RUNNING,
                          .samples = 1,
                          .start_ns = i,
                          .weights.wall_ns = 1};
        profile_add_run(p, t, &run);
    }
    ck_assert_uint_lt(profile_stack_count(p), LIMIT / 12);
    ck_assert_uint_lt(profile_see_thread(p, t)->n_runs * sizeof(struct run), LIMIT);
    ck_assert_uint_eq(profile_push(p, (stack_id){0}, f).ix, first.ix);
    ck_assert_double_gt(profile_number(p, METRIC_STACKS_REFUSED), 0);
    ck_assert_double_gt(profile_number(p, METRIC_RUNS_REFUSED),
                        0); /* none of the stacks comes again */
    const struct profile_thread *thread = profile_see_thread(p, t);
    const struct run *last = &thread->runs[thread->n_runs - 1];
    ck_assert_str_eq(
        profile_text(p, profile_get_frame(p, profile_stack_frame(p, last->at.stack))->mark.name),
        "[storage full]");
    int64_t wall_ns = 0;
    for (size_t i = 0; i < thread->n_runs; i++)
        wall_ns += thread->runs[i].weights.wall_ns;
    ck_assert_int_eq(wall_ns, TICKS);
    profile_free(p);
}
END_TEST

/* Where a stack was known to, it still is. */
START_TEST(past_the_limit_a_stack_keeps_its_known_beginning)
{
    enum { LIMIT = 1 << 16 };
    struct profile *p = profile_new(LIMIT);
    stack_id caller = profile_push(p, (stack_id){0}, profile_mark(p, "caller", NULL));
    char name[32];
    for (int i = 0; profile_number(p, METRIC_STACKS_REFUSED) == 0; i++) {
        ck_assert_int_gt(snprintf(name, sizeof name, "leaf %d", i), 0);
        (void)profile_push(p, caller, profile_mark(p, name, NULL));
    }
    stack_id cut = profile_push(p, caller, profile_mark(p, "another", NULL));
    ck_assert_uint_eq(profile_stack_parent(p, cut).ix, caller.ix);
    ck_assert_str_eq(profile_text(p, profile_get_frame(p, profile_stack_frame(p, cut))->mark.name),
                     "[storage full]");
    ck_assert_uint_eq(profile_push(p, cut, profile_stack_frame(p, caller)).ix, cut.ix);
    ck_assert_double_gt(profile_number(p, METRIC_FRAMES_REFUSED), 0);
    profile_free(p);
}
END_TEST

/* So many that more than half of the room is taken however coarse time is: what comes later is
 * there all the same. */
START_TEST(past_the_limit_what_comes_again_has_room)
{
    enum { LIMIT = 1 << 18, TICKS = 200000, STACKS = LIMIT / 2 * 5 / 8 / sizeof(struct run) };
    struct profile *p = profile_new(LIMIT);
    thread_id t = some_thread(p);
    frame_id f = profile_mark(p, "f", NULL);
    stack_id stacks[STACKS] = {{0}};
    for (int i = 0; i < STACKS; i++)
        stacks[i] = profile_push(p, i ? stacks[i - 1] : (stack_id){0}, f);
    for (int i = 0; i < TICKS; i++)
        profile_add_run(p, t,
                        &(struct run){.at.stack = stacks[i % STACKS],
                                      .samples = 1,
                                      .state = RUN_RUNNING,
                                      .start_ns = (int64_t)i * NS_PER_MS,
                                      .weights.wall_ns = NS_PER_MS});
    ck_assert_double_eq(profile_number(p, METRIC_RUNS_REFUSED), 0);
    ck_assert_double_eq(profile_number(p, METRIC_STACKS_REFUSED), 0);
    profile_free(p);
}
END_TEST

/* Some stacks that come again and again. */
START_TEST(past_the_limit_time_lines_become_coarser)
{
    enum { LIMIT = 1 << 18, TICKS = 200000, STACKS = 7, TICK_NS = NS_PER_S / 100 };
    struct profile *p = profile_new(LIMIT);
    thread_id t = some_thread(p);
    frame_id f = profile_mark(p, "f", NULL);
    stack_id stacks[STACKS] = {{0}};
    int64_t wanted_ns[STACKS + 1] = {0};
    for (int i = 0; i < STACKS; i++)
        stacks[i] = profile_push(p, i ? stacks[i - 1] : (stack_id){0}, f);
    for (int i = 0; i < TICKS; i++) {
        struct run run = {.at.stack = stacks[(i * 5) % STACKS],
                          .samples = 1,
                          .state = RUN_RUNNING,
                          .start_ns = (int64_t)i * TICK_NS,
                          .weights.wall_ns = TICK_NS};
        wanted_ns[run.at.stack.ix] += run.weights.wall_ns;
        profile_add_run(p, t, &run);
    }
    profile_end(p, (int64_t)TICKS * TICK_NS);
    ck_assert_double_ge(profile_number(p, METRIC_TIME_STEP_S), 1);
    ck_assert_int_eq(profile_time_step_ns(p) % NS_PER_S, 0);
    const struct profile_thread *thread = profile_see_thread(p, t);
    ck_assert_uint_le(thread->runs_capacity * sizeof *thread->runs, LIMIT / 2);
    int64_t at_ns = 0;
    uint64_t samples = 0;
    size_t fine = 0;
    for (size_t i = 0; i < thread->n_runs; i++) {
        int64_t until_ns;
        ck_assert_int_eq(thread->runs[i].start_ns, at_ns);
        if (exact_time_has(profile_exact_time(p), at_ns, &until_ns)) {
            ck_assert_uint_eq(thread->runs[i].at.stack.ix, stacks[at_ns / TICK_NS * 5 % STACKS].ix);
            ck_assert_int_eq(thread->runs[i].weights.wall_ns, TICK_NS);
            fine++;
        }
        at_ns += thread->runs[i].weights.wall_ns;
        samples += thread->runs[i].samples;
        wanted_ns[thread->runs[i].at.stack.ix] -= thread->runs[i].weights.wall_ns;
    }
    ck_assert_int_eq(at_ns, (int64_t)TICKS * TICK_NS);
    ck_assert_uint_eq(samples, TICKS);
    ck_assert_uint_gt(fine * sizeof *thread->runs, LIMIT / 2 / 16);
    for (int i = 0; i <= STACKS; i++)
        ck_assert_int_eq(wanted_ns[i], 0);
    profile_free(p);
}
END_TEST

/* What happened some minutes ago is what one asks for when something is wrong. */
START_TEST(past_the_limit_the_last_ten_minutes_stay_exact)
{
    enum { LIMIT = 1 << 25, RATE_HZ = 100, SECONDS = 7000, LAST_S = 600 };
    struct profile *p = profile_new(LIMIT);
    thread_id t = some_thread(p);
    stack_id stacks[2];
    for (int i = 0; i < 2; i++)
        stacks[i] = profile_push(p, (stack_id){0}, profile_mark(p, i ? "f" : "g", NULL));
    for (int64_t i = 0; i < SECONDS * RATE_HZ; i++)
        profile_add_run(p, t,
                        &(struct run){.at.stack = stacks[i % 2],
                                      .samples = 1,
                                      .state = RUN_RUNNING,
                                      .start_ns = i * (NS_PER_S / RATE_HZ),
                                      .weights.wall_ns = NS_PER_S / RATE_HZ});
    const struct exact_time *e = profile_exact_time(p);
    ck_assert_int_gt(e->step_ns, 0);
    ck_assert_int_le(e->since_ns, (int64_t)(SECONDS - LAST_S) * NS_PER_S);
    ck_assert_int_gt(e->every, 0);
    profile_free(p);
}
END_TEST

START_TEST(past_the_limit_ended_threads_become_one_per_name)
{
    enum { LIMIT = 1 << 20, THREADS = 5000 };
    struct profile *p = profile_new(LIMIT);
    thread_id main = some_thread(p);
    profile_get_thread(p, main)->main = true;
    process_id process = profile_see_thread(p, main)->process;
    stack_id s = profile_push(p, (stack_id){0}, profile_mark(p, "f", NULL));
    char name[32];
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_gt(snprintf(name, sizeof name, "job-%d", i), 0);
        thread_id t = profile_thread(p, process, 100 + i, profile_string(p, name), i);
        struct run run = {.at.stack = s,
                          .state = RUN_RUNNING,
                          .samples = 2,
                          .start_ns = i,
                          .weights.wall_ns = 10};
        if (i % 5)
            profile_add_run(p, t, &run);
        profile_get_thread(p, t)->counts.ns[COUNTED_CPU] = 3;
        profile_get_thread(p, t)->usage.major_faults = 4;
        profile_get_thread(p, t)->ended = true;
        profile_end_thread(p, t, i + 10);
    }
    profile_end(p, THREADS + 10);
    ck_assert_uint_lt(profile_thread_count(p), LIMIT / 4096 + 3);
    double folded = profile_number(p, METRIC_THREADS_FOLDED);
    ck_assert_double_ge(folded, THREADS / 2);
    ck_assert_double_eq(profile_number(p, METRIC_THREADS_WITHOUT_A_SAMPLE), THREADS / 5);
    int64_t wall_ns = 0;
    double seen = 0;
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        for (size_t k = 0; k < t->n_runs; k++)
            wall_ns += t->runs[k].weights.wall_ns;
        seen += t->n_folded ? t->n_folded : t->n_runs > 0;
        if (!t->n_folded)
            continue;
        ck_assert_str_eq(profile_text(p, t->name), "job-*");
        ck_assert_double_eq(t->n_folded, folded);
        ck_assert_uint_eq(t->n_runs, 1);
        ck_assert_int_eq(t->lived_ns, 10 * (int64_t)folded);
        ck_assert_int_eq(t->counts.ns[COUNTED_CPU], 3 * (int64_t)folded);
        ck_assert_uint_eq(t->usage.major_faults, 4 * (uint64_t)folded);
        ck_assert_uint_eq(t->runs[0].samples, 2 * (uint64_t)folded);
    }
    ck_assert_double_eq(seen, THREADS / 5 * 4);
    ck_assert_int_eq(wall_ns, THREADS / 5 * 4 * 10);
    profile_free(p);
}
END_TEST

START_TEST(past_the_limit_each_process_keeps_its_threads)
{
    enum { LIMIT = 1 << 20, THREADS = 3000, PROCESSES = 3 };
    struct profile *p = profile_new(LIMIT);
    process_id processes[PROCESSES];
    stack_id s = profile_push(p, (stack_id){0}, profile_mark(p, "f", NULL));
    for (int i = 0; i < PROCESSES; i++)
        processes[i] = profile_process(p, &(struct profile_process){.pid = 10 + i});
    for (int i = 0; i < THREADS; i++) {
        process_id process = processes[i % PROCESSES];
        thread_id t = profile_thread(p, process, 100 + i, profile_string(p, "job"), i);
        struct run run = {.at.stack = s,
                          .state = RUN_RUNNING,
                          .samples = 1,
                          .start_ns = i,
                          .weights.wall_ns = 10};
        profile_add_run(p, t, &run);
        profile_get_thread(p, t)->ended = true;
        profile_end_thread(p, t, i + 10);
    }
    profile_end(p, THREADS + 10);
    int64_t wall_ns[PROCESSES] = {0};
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        for (int k = 0; k < PROCESSES; k++)
            for (size_t r = 0; t->process.ix == processes[k].ix && r < t->n_runs; r++)
                wall_ns[k] += t->runs[r].weights.wall_ns;
    }
    ck_assert_double_ge(profile_number(p, METRIC_THREADS_FOLDED), THREADS / 2);
    for (int k = 0; k < PROCESSES; k++)
        ck_assert_int_eq(wall_ns[k], THREADS / PROCESSES * 10);
    profile_free(p);
}
END_TEST

START_TEST(past_the_limit_rare_names_are_one)
{
    enum { LIMIT = 1 << 20, NAMES = 4000 };
    struct profile *p = profile_new(LIMIT);
    thread_id main = some_thread(p);
    process_id process = profile_see_thread(p, main)->process;
    stack_id s = profile_push(p, (stack_id){0}, profile_mark(p, "f", NULL));
    char name[32];
    for (int i = 0; i < NAMES; i++) {
        ck_assert_int_gt(snprintf(name, sizeof name, "%c%c%c-%d", 'a' + i / 400, 'a' + i / 20 % 20,
                                  'a' + i % 20, i),
                         0);
        thread_id t = profile_thread(p, process, 100 + i, profile_string(p, name), i);
        profile_add_run(
            p, t,
            &(struct run){
                .at.stack = s, .state = RUN_RUNNING, .start_ns = i, .weights.wall_ns = 10});
        profile_get_thread(p, t)->ended = true;
        profile_end_thread(p, t, i + 10);
    }
    uint32_t sums = 0;
    uint32_t most = 0;
    uint32_t folded = 0;
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        sums += t->n_folded > 0;
        folded += t->n_folded;
        most = t->n_folded > most ? t->n_folded : most;
        if (t->n_folded > 1)
            ck_assert_str_eq(profile_text(p, t->name), "others");
    }
    ck_assert_uint_eq(sums, 1000 + 1);
    ck_assert_uint_eq(most, folded - 1000);
    ck_assert_uint_gt(most, 1000);
    profile_free(p);
}
END_TEST

START_TEST(past_the_limit_names_are_refused)
{
    enum { LIMIT = 1 << 16 };
    struct profile *p = profile_new(LIMIT);
    char name[32];
    string_id id = {0};
    string_id first = profile_string(p, "first");
    for (int i = 0; i < LIMIT && profile_number(p, METRIC_NAMES_REFUSED) == 0; i++) {
        ck_assert_int_gt(snprintf(name, sizeof name, "name %d", i), 0);
        id = profile_string(p, name);
    }
    ck_assert_double_eq(profile_number(p, METRIC_NAMES_REFUSED), 1);
    ck_assert_str_eq(profile_text(p, id), "[storage full]");
    ck_assert_uint_eq(profile_string(p, "first").ix, first.ix);
    ck_assert_str_eq(profile_text(p, profile_string(p, "name 0")), "name 0");
    profile_free(p);
}
END_TEST

START_TEST(the_end_is_that_of_living_threads)
{
    struct profile *p = profile_new(0);
    thread_id living = some_thread(p);
    thread_id dead = some_thread(p);
    profile_get_thread(p, dead)->ended = true;
    profile_get_thread(p, dead)->end_ns = 5;
    profile_end(p, 9);
    ck_assert_int_eq(profile_see_thread(p, living)->end_ns, 9);
    ck_assert_int_eq(profile_see_thread(p, dead)->end_ns, 5);
    ck_assert_int_eq(profile_end_ns(p), 9);
    profile_free(p);
}
END_TEST

START_TEST(facts_keep_their_order)
{
    struct profile *p = profile_new(0);
    profile_set_text(p, "host", "here");
    profile_set_text(p, "kernel", "6.1");
    profile_set_text(p, "host", "there");
    size_t n = 0;
    const struct profile_metadatum *facts = profile_metadata(p, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(facts[0].key, "host");
    ck_assert_str_eq(profile_text(p, facts[0].text), "there");
    ck_assert_str_eq(facts[1].key, "kernel");
    profile_forget_metadatum(p, "host");
    ck_assert_str_eq(profile_metadata_text(p, "host"), "");
    ck_assert_str_eq(profile_metadata_text(p, "kernel"), "6.1");
    profile_free(p);
}
END_TEST

START_TEST(numbers_are_set_and_added)
{
    struct profile *p = profile_new(0);
    ck_assert_double_eq(profile_number(p, METRIC_LATE_TICKS), 0);
    profile_add_number(p, METRIC_LATE_TICKS, 2);
    profile_add_number(p, METRIC_LATE_TICKS, 3);
    ck_assert_double_eq(profile_number(p, METRIC_LATE_TICKS), 5);
    profile_set_number(p, METRIC_LATE_TICKS, 1);
    ck_assert_double_eq(profile_number(p, METRIC_LATE_TICKS), 1);
    ck_assert_double_eq(profile_number(p, METRIC_TICKS), 0);
    profile_free(p);
}
END_TEST

START_TEST(mounts_are_interned)
{
    struct profile *p = profile_new(0);
    struct profile_mount m = {.point = profile_string(p, "/mnt"),
                              .type = profile_string(p, "nfs4"),
                              .source = profile_string(p, "nfs01:/export"),
                              .served = true};
    mount_id first = profile_mount(p, &m);
    ck_assert_uint_eq(profile_mount(p, &m).ix, first.ix);
    m.source = profile_string(p, "nfs02:/export");
    mount_id second = profile_mount(p, &m);
    ck_assert_uint_ne(second.ix, first.ix);
    ck_assert_uint_eq(profile_mount_count(p), 2);
    ck_assert_str_eq(profile_text(p, profile_see_mount(p, first)->source), "nfs01:/export");
    ck_assert_str_eq(profile_text(p, profile_see_mount(p, second)->source), "nfs02:/export");
    ck_assert(profile_see_mount(p, first)->served);
    profile_free(p);
}
END_TEST

/* Stacks are the same whoever is waited for, and equal waits are one. */
START_TEST(waits_are_interned_apart_from_stacks)
{
    struct profile *p = profile_new(0);
    struct wait wait = {.kind = WAIT_CALL, .call = profile_string(p, "futex")};
    wait_id plain = profile_wait(p, &wait);
    wait.side =
        (struct wait_side){.thing = THING_MUTEX, .blocker = {.kind = BLOCKER_THREAD, .tid = 7}};
    wait_id held = profile_wait(p, &wait);
    ck_assert_uint_ne(plain.ix, held.ix);
    ck_assert_uint_eq(profile_wait(p, &wait).ix, held.ix);
    ck_assert_uint_eq(profile_wait_count(p), 2);
    ck_assert_int_eq(profile_see_wait(p, held)->side.blocker.tid, 7);
    ck_assert_ptr_null(profile_see_wait(p, (wait_id){0}));
    ck_assert_uint_eq(profile_stack_count(p), 0);
    profile_free(p);
}
END_TEST

/* Each wait is for another lock: their runs join once nobody asks whose. */
START_TEST(runs_of_ever_new_waits_find_room)
{
    enum { LIMIT = 1 << 22, RUNS = 100000 };
    struct profile *p = profile_new(LIMIT);
    process_id process = profile_process(p, &(struct profile_process){.pid = 1});
    thread_id t = profile_thread(p, process, 1, (string_id){0}, 0);
    struct wait wait = {.kind = WAIT_CALL, .call = profile_string(p, "futex")};
    int64_t wall_ns = 0;
    for (int64_t i = 0; i < RUNS; i++) {
        wait.side =
            (struct wait_side){.thing = THING_MUTEX, .addr = (uint64_t)(i % 7000) * 64 + 64};
        struct run run = {.at.wait = profile_wait(p, &wait),
                          .state = RUN_BLOCKED,
                          .samples = 1,
                          .start_ns = i * NS_PER_MS,
                          .weights.wall_ns = NS_PER_MS};
        profile_add_run(p, t, &run);
    }
    profile_end(p, (int64_t)RUNS * NS_PER_MS);
    const struct profile_thread *thread = profile_see_thread(p, t);
    for (size_t i = 0; i < thread->n_runs; i++)
        wall_ns += thread->runs[i].weights.wall_ns;
    ck_assert_int_eq(wall_ns, (int64_t)RUNS * NS_PER_MS);
    ck_assert_double_eq(profile_number(p, METRIC_RUNS_REFUSED), 0);
    ck_assert_double_gt(profile_number(p, METRIC_WAITS_REFUSED), 0);
    ck_assert_int_eq(profile_see_wait(p, thread->runs[0].at.wait)->side.thing, THING_MUTEX);
    ck_assert_uint_eq(profile_see_wait(p, thread->runs[0].at.wait)->side.addr, 0);
    profile_free(p);
}
END_TEST

/* A program that waits for ever new objects may not use up the memory: each call stays. */
START_TEST(waits_beyond_the_limit_keep_their_call)
{
    enum { LIMIT = 1 << 20, WAITS = 20000 };
    struct profile *p = profile_new(LIMIT);
    struct wait wait = {.kind = WAIT_CALL, .call = profile_string(p, "futex")};
    wait_id last = {0};
    for (uint64_t i = 1; i <= WAITS; i++) {
        wait.side = (struct wait_side){.thing = THING_MUTEX, .addr = i * 64};
        last = profile_wait(p, &wait);
    }
    ck_assert_uint_lt(profile_wait_count(p), LIMIT / 64);
    ck_assert_double_eq(profile_number(p, METRIC_WAITS_REFUSED),
                        WAITS + 1 - (double)profile_wait_count(p));
    ck_assert_str_eq(profile_text(p, profile_see_wait(p, last)->call), "futex");
    ck_assert_int_eq(profile_see_wait(p, last)->side.thing, THING_UNKNOWN);
    profile_free(p);
}
END_TEST

CHECK_MAIN("profile", 20, runs_of_ever_new_waits_find_room, waits_are_interned_apart_from_stacks,
           waits_beyond_the_limit_keep_their_call, strings_are_interned_and_stay,
           modules_and_functions_are_interned, a_flagged_frame_stays_the_same,
           frames_differ_in_each_part, locations_may_come_in_any_order_and_again,
           stacks_share_their_prefix, equal_runs_that_touch_are_joined,
           an_ended_thread_takes_no_more_room_than_it_needs, past_the_limit_new_stacks_are_refused,
           past_the_limit_a_stack_keeps_its_known_beginning,
           past_the_limit_time_lines_become_coarser, past_the_limit_what_comes_again_has_room,
           past_the_limit_the_last_ten_minutes_stay_exact,
           past_the_limit_ended_threads_become_one_per_name,
           past_the_limit_each_process_keeps_its_threads, past_the_limit_rare_names_are_one,
           past_the_limit_names_are_refused, the_end_is_that_of_living_threads,
           facts_keep_their_order, numbers_are_set_and_added, mounts_are_interned)
