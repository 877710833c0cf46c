#include "cli/answer.h"

#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct text said;

/* B's closing table after END_MS; the profile is freed. */
static const char *answer(struct profile_builder *b, int width, int64_t end_ms)
{
    struct view_options options = {0};
    profile_end(b->p, end_ms * NS_PER_MS);
    text_clear(&said);
    text_add(&said, "");
    struct table table;
    struct groups groups;
    groups_init(&groups, b->p, &options);
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    groups_release(&groups);
    profile_free(b->p);
    answer_write(&table, width, &said);
    table_release(&table);
    return said.s;
}

/* A main thread that waits for a worker that waits for a driver, and a pool of no interest. */
START_TEST(the_culprit_is_named)
{
    struct profile_builder b = builder_start(6823, "python3");
    thread_id main = builder_thread(&b, 6823, NULL);
    const char *wait = "numpy_of@/src/train.py:1:3 > mge_sync!mge.so > mge::Worker::sync!mge.so"
                       " > pthread_cond_wait!libc.so.6 > futex [blocked]";
    builder_run(&b, main, "<module>@/src/train.py:1:9 > step@/src/train.py:5:6", 1900, 1800);
    profile_get_thread(b.p, main)->counts.ns[COUNTED_RUNQUEUE] = INT64_C(100) * NS_PER_MS;
    builder_run(&b, main, wait, 7900, 0);
    builder_run(&b, main, "load@/src/train.py:7:8 > read /data/x [blocked]", 200, 0);
    thread_id worker = builder_thread(&b, 6825, "mge-worker");
    builder_run(&b, worker, "start_thread!libc.so.6 > mge::Worker::run!mge.so > Conv::exec!mge.so",
                1200, 1200);
    builder_run(&b, worker,
                "start_thread!libc.so.6 > mge::Worker::run!mge.so > TopK::exec!mge.so > "
                "cudaGetDeviceProperties!libcudart.so > exchange!libcudart.so > ioctl!libc.so.6 > "
                "ioctl /dev/nvidiactl [blocked]",
                8700, 0);
    builder_run(&b, worker, "mge::Worker::run!mge.so > futex [blocked]", 100, 0);
    for (pid_t tid = 6830; tid < 6890; tid++)
        builder_run(&b, builder_thread(&b, tid, NULL),
                    "start_thread!libc.so.6 > gomp_thread_start!libgomp.so.1 > "
                    "gomp_team_barrier_wait!libgomp.so.1 > futex [blocked]",
                    10000, 0);
    ck_assert_str_eq(
        answer(&b, 79, 10000),
        "  thread           run  wait-cpu  blocked  where its time goes\n"
        "  main 6823        18%        1%      81%  79% numpy_of train.py:3 >\n"
        "                                               mge::Worker::sync > [condition]\n"
        "                                           19% step train.py:6\n"
        "  mge-worker 6825  12%        0%      88%  87% TopK::exec >\n"
        "                                               cudaGetDeviceProperties >\n"
        "                                               [ioctl /dev/nvidiactl]\n"
        "                                           12% mge::Worker::run > Conv::exec\n"
        "  60 x omp worker   0%        0%     100%  idle: gomp_team_barrier_wait\n");
}
END_TEST

/* libstdc++'s own frames have no name on Debian. */
START_TEST(threads_of_cxx_are_called_after_what_they_run)
{
    static const char *const threads[] = {
        "start_thread!libc.so.6 > libstdc++.so.6+0xd44a3!libstdc++.so.6 > "
        "std::thread::_State_impl<std::thread::_Invoker<std::tuple<db::Pool::start(int)::{lambda()#"
        "1}>>>"
        "::_M_run!db.so > db::work!db.so > db::step!db.so",
        "start_thread!libc.so.6 > "
        "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), "
        "int>>>::_M_run!db.so > "
        "db::pump!db.so > db::step!db.so",
        "start_thread!libc.so.6 > std::thread::_State_impl<std::thread::_Invoker<std::tuple<"
        "arrow::internal::ThreadPool::LaunchWorkersUnlocked(int)::{lambda()#1}>>>::_M_run!libarrow."
        "so > "
        "pthread_cond_wait!libc.so.6 > futex [blocked]"};
    struct profile_builder b = builder_start(10, "python3");
    builder_run(&b, builder_thread(&b, 10, NULL), "main", 4000, 4000);
    for (int i = 0; i < 3; i++)
        builder_run(&b, builder_thread(&b, 11 + i, NULL), threads[i], 4000, i < 2 ? 900 - i : 0);
    ck_assert_str_eq(answer(&b, 79, 4000),
                     "  thread              run  wait-cpu  blocked  where its time goes\n"
                     "  main 10            100%        0%       0%  100% main\n"
                     "  db::Pool::start 11  23%        0%      77%  100% db::work > db::step\n"
                     "  db::pump 12         22%        0%      78%  100% db::pump > db::step\n"
                     "  arrow pool 13        0%        0%     100%  idle: arrow pool\n");
}
END_TEST

/* What a JIT compiler made, and told nobody of. */
START_TEST(an_address_is_no_name_for_a_thread)
{
    struct profile_builder b = builder_start(10, "java");
    builder_run(&b, builder_thread(&b, 10, NULL), "main", 1000, 1000);
    builder_run(&b, builder_thread(&b, 11, NULL), "0x7f0000", 1000, 900);
    ck_assert_str_eq(answer(&b, 79, 1000),
                     "  thread      run  wait-cpu  blocked  where its time goes\n"
                     "  main 10    100%        0%       0%  100% main\n"
                     "  java 11     90%        0%      10%  100% 0x7f0000\n");
}
END_TEST

START_TEST(the_line_is_the_one_mostly_seen)
{
    struct profile_builder b = builder_start(10, "python3");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "f@/a.py:1:2 > sleep!libc.so.6 > clock_nanosleep [blocked]", 300, 0);
    builder_run(&b, main, "g@/a.py:5:6", 200, 200);
    builder_run(&b, main, "f@/a.py:1:3 > sleep!libc.so.6 > clock_nanosleep [blocked]", 500, 0);
    ck_assert_str_eq(answer(&b, 79, 1000),
                     "  thread      run  wait-cpu  blocked  where its time goes\n"
                     "  main 10     20%        0%      80%  80% f a.py:3 > [clock_nanosleep]\n"
                     "                                      20% g a.py:6\n");
}
END_TEST

START_TEST(what_was_left_out_is_not_called_blocked)
{
    struct profile_builder b = builder_start(10, "python3");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "f@/a.py:1:2", 300, 300);
    profile_set_number(b.p, METRIC_STACKS_LEFT_OUT, 7);
    ck_assert_str_eq(answer(&b, 79, 1000),
                     "  thread      run  wait-cpu     rest  where its time goes\n"
                     "  main 10     30%        0%      70%  30% f a.py:2\n");
}
END_TEST

START_TEST(rows_are_limited_and_lines_fit)
{
    struct profile_builder b = builder_start(10, "app");
    for (pid_t tid = 10; tid < 40; tid++) {
        struct text name = {0};
        text_addf(&name, "%c-thread-with-a-long-nam\xc3\xa9", 'a' + tid % 26);
        builder_run(&b, builder_thread(&b, tid, name.s),
                    "an::unreasonably::long::function::name::that::goes::on!app > "
                    "another::unreasonably::long::function::name::too!app > "
                    "read /a/file/with/a/long/path/that/fills/a/line/of/its/own [blocked]",
                    100, 0);
        text_release(&name);
    }
    answer(&b, 79, 100);
    int lines = 0;
    int rows = 0;
    for (const char *s = said.s; *s; lines++) {
        int columns = 0;
        rows += s[2] != ' ';
        for (; *s != '\n'; s++)
            columns += ((unsigned char)*s & 0xc0) != 0x80;
        ck_assert_int_le(columns, 79);
        s++;
    }
    ck_assert_int_eq(rows, ANSWER_MAX_ROWS + 1);
    ck_assert_int_gt(lines, rows);
    ck_assert_msg(strstr(said.s, " more threads ") && str_ends(said.s, "…\n"), "%s", said.s);
}
END_TEST

/* Each of many threads does little, and all do the same. */
START_TEST(what_many_short_threads_do_comes_before_what_single_ones_do)
{
    struct profile_builder b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app > futex [blocked]", 1000, 0);
    for (pid_t tid = 11; tid < 20; tid++) {
        char name[] = "aux-a";
        name[4] = (char)('a' + tid - 11);
        builder_run(&b, builder_thread(&b, tid, name), "tick!app", 20, 20);
    }
    for (pid_t tid = 20; tid < 120; tid++)
        builder_run(&b, builder_thread(&b, tid, "job"), "culprit!app", 8, 8);
    const char *text = answer(&b, 79, 1000);
    const char *main = strstr(text, "main 10");
    const char *job = strstr(text, "100 x job");
    const char *aux = strstr(text, "aux");
    ck_assert_msg(main && job && aux && main < job && job < aux, "%s", text);
}
END_TEST

START_TEST(a_guess_does_not_lead)
{
    struct profile_builder b = builder_start(10, "java");
    builder_run(&b, builder_thread(&b, 11, NULL),
                "clone3!libc.so.6 > call_helper?!libjvm.so > JVM_Sleep!libjvm.so > 0x7f00 > "
                "futex [blocked]",
                900, 0);
    builder_run(&b, builder_thread(&b, 12, NULL), "run!app > work?!app > 0x7f10", 900, 900);
    ck_assert_str_eq(answer(&b, 79, 900),
                     "  thread        run  wait-cpu  blocked  where its time goes\n"
                     "  run 12       100%        0%       0%  100% run\n"
                     "  JVM_Sleep 11   0%        0%     100%  100% JVM_Sleep > [futex]\n");
}
END_TEST

START_TEST(a_terminal_gets_no_orders)
{
    struct profile_builder b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "evil\033[2J\xc2\x9b!app", 100, 100);
    ck_assert_str_eq(answer(&b, 79, 100),
                     "  thread      run  wait-cpu  blocked  where its time goes\n"
                     "  main 10    100%        0%       0%  100% evil?[2J?\n");
}
END_TEST

/* Counts of the kernel's for 4 s; a tenth of the thread's switches were wallspy's. */
static const char *with_counts(uint64_t faults, uint64_t major, uint64_t switches)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id t = builder_thread(&b, 10, NULL);
    builder_run(&b, t, "f!app", 4000, 4000);
    profile_get_thread(b.p, t)->usage = (struct profile_usage){.minor_faults = faults - major,
                                                               .major_faults = major,
                                                               .voluntary = switches / 10 * 9,
                                                               .involuntary = switches / 10 * 2};
    profile_get_thread(b.p, t)->own_switches = switches / 10;
    return answer(&b, 79, 4000);
}

START_TEST(faults_and_switches_are_shown_where_they_stand_out)
{
    static const char head[] = "  thread      run  wait-cpu  blocked  where its time goes\n"
                               "  main 10    100%        0%       0%  100% f\n";
    const char *text = with_counts(292000, 4000, 80000);
    ck_assert_str_eq(text + strlen(head), "                                      73,000 page "
                                          "faults/s, 1,000 major page\n"
                                          "                                      faults/s, 20,000 "
                                          "switches/s\n");
    ck_assert_str_eq(with_counts(19000, 70, 7900), head);
    ck_assert(strstr(with_counts(19000, 90, 7900), "\n                                      "
                                                   "23 major page faults/s\n"));
}
END_TEST

START_TEST(nothing_says_nothing)
{
    struct profile_builder b = builder_start(10, "app");
    ck_assert_str_eq(answer(&b, 79, 100), "");
}
END_TEST

CHECK_MAIN("answer", 20, the_culprit_is_named, threads_of_cxx_are_called_after_what_they_run,
           an_address_is_no_name_for_a_thread, the_line_is_the_one_mostly_seen,
           what_was_left_out_is_not_called_blocked, rows_are_limited_and_lines_fit,
           what_many_short_threads_do_comes_before_what_single_ones_do, a_guess_does_not_lead,
           a_terminal_gets_no_orders, faults_and_switches_are_shown_where_they_stand_out,
           nothing_says_nothing)
