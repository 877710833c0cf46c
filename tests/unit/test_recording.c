#include "worker/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/metric_info.h"
#include "tests/support/check_main.h"

/* The recording is of this process.  Its sampler is never started: the messages are the test's. */
enum { INTERVAL_MS = 10, OTHER_TID = 1 << 22 /* no thread has it */ };
static const int64_t MS = NS_PER_MS;

static struct recording *recording;

static void set_up(void)
{
    struct err err = {0};
    struct recording_config config = {.sampler = {.rate_hz = 100, .max_cpus = 1}};
    recording = recording_new(&config);
    ck_assert_int_eq(recording_add(recording, getpid(), &err), 0);
}

static void tell(const struct sample_message *m)
{
    size_t bytes = m->head.kind == MESSAGE_SAMPLE ? sizeof *m : sizeof m->head;
    struct ring *ring = sampler_ring(recording_sampler(recording));
    memcpy(ring_reserve(ring, bytes), m, bytes);
    ring_commit(ring, bytes);
    ck_assert(recording_work(recording));
}

/* Thread THREAD, of which the kernel counts RUN_MS and RUNS, at AT_MS. */
static struct sample_message message(enum message_kind kind, uint32_t thread, int64_t at_ms,
                                     uint64_t run_ms, uint64_t runs)
{
    struct sample_message m = {.head = {.kind = kind,
                                        .thread = thread,
                                        .tid = thread == 1 ? getpid() : OTHER_TID + (pid_t)thread,
                                        .time_ns = at_ms * MS,
                                        .until_ns = at_ms * MS,
                                        .interval_ns = INTERVAL_MS * MS,
                                        .sched = {run_ms * NS_PER_MS, 0, runs}}};
    return m;
}

/* Its stack is one frame that says what it is. */
static void sample(uint32_t thread, int64_t at_ms, uint64_t run_ms, enum thread_state state)
{
    struct sample_message m = message(MESSAGE_SAMPLE, thread, at_ms, run_ms, 5);
    m.head.flags = SAMPLE_NO_STACK | SAMPLE_IO_WORKER;
    m.snapshot.state = state;
    tell(&m);
}

static void extend(uint32_t thread, int64_t at_ms, uint64_t run_ms)
{
    struct sample_message m = message(MESSAGE_EXTENDED, thread, at_ms, run_ms, 5);
    tell(&m);
}

static void end(uint32_t thread, int64_t at_ms, uint64_t run_ms, uint32_t flags)
{
    struct sample_message m = message(MESSAGE_THREAD_END, thread, at_ms, run_ms, 5);
    m.head.flags = flags;
    tell(&m);
}

/* As sampler_flush() has it answered. */
static void snapshot(void)
{
    struct ring *ring = sampler_ring(recording_sampler(recording));
    struct message *m = ring_reserve(ring, sizeof *m);
    *m = (struct message){.kind = MESSAGE_FLUSHED};
    ring_commit(ring, sizeof *m);
    recording_snapshot(recording);
}

static const struct profile_thread *thread(uint32_t number)
{
    pid_t tid = number == 1 ? getpid() : OTHER_TID + (pid_t)number;
    const struct profile *p = recording_profile(recording);
    for (uint32_t i = 1; i <= profile_thread_count(p); i++)
        if (profile_see_thread(p, (thread_id){i})->tid == tid)
            return profile_see_thread(p, (thread_id){i});
    ck_abort_msg("no thread %u", number);
}

static int64_t wall_ms(uint32_t number, enum run_state state)
{
    int64_t ns = 0;
    const struct profile_thread *t = thread(number);
    for (size_t i = 0; i < t->n_runs; i++)
        ns += t->runs[i].state == state ? t->runs[i].weights.wall_ns : 0;
    return ns / MS;
}

START_TEST(the_last_sample_holds_until_the_end)
{
    set_up();
    sample(1, 10, 0, THREAD_BLOCKED);
    end(1, 500, 0, THREAD_STILL_ALIVE);
    ck_assert_int_eq(wall_ms(1, RUN_BLOCKED), 490);
    ck_assert_int_eq(thread(1)->end_ns, 500 * MS);
    recording_free(recording);
}
END_TEST

/* As of a snapshot: what it has is not added again when the next sample comes. */
START_TEST(a_sample_held_so_far_is_there_before_it_ends)
{
    set_up();
    sample(1, 10, 0, THREAD_RUNNING);
    extend(1, 110, 80);
    ck_assert_int_eq(wall_ms(1, RUN_RUNNING), 100);
    ck_assert_int_eq(thread(1)->counts.ns[COUNTED_CPU], 80 * MS);
    end(1, 130, 90, THREAD_STILL_ALIVE);
    ck_assert_int_eq(wall_ms(1, RUN_RUNNING), 120);
    ck_assert_int_eq(thread(1)->counts.ns[COUNTED_CPU], 90 * MS);
    recording_free(recording);
}
END_TEST

/* The place of a thread that ended is another's: whose samples these are stays known. */
START_TEST(samples_stay_with_their_thread_when_another_ends)
{
    set_up();
    for (uint32_t i = 1; i <= 4; i++)
        sample(i, 10, 0, THREAD_BLOCKED);
    end(1, 20, 0, 0);
    sample(5, 20, 0, THREAD_BLOCKED); /* has the last place, where 4 was */
    end(2, 30, 0, 0);
    sample(4, 40, 0, THREAD_STOPPED);
    end(5, 50, 0, 0);
    end(3, 100, 0, THREAD_STILL_ALIVE);
    end(4, 200, 0, THREAD_STILL_ALIVE);
    ck_assert_uint_eq(profile_thread_count(recording_profile(recording)), 5);
    ck_assert_int_eq(wall_ms(1, RUN_BLOCKED), 10);
    ck_assert_int_eq(wall_ms(2, RUN_BLOCKED), 20);
    ck_assert_int_eq(wall_ms(3, RUN_BLOCKED), 90);
    ck_assert_int_eq(wall_ms(4, RUN_BLOCKED), 30);
    ck_assert_int_eq(wall_ms(4, RUN_STOPPED), 160);
    ck_assert_int_eq(wall_ms(5, RUN_BLOCKED), 30);
    recording_free(recording);
}
END_TEST

/* A message for a sample that no longer is: the ring was full when its thread began. */
START_TEST(what_holds_on_without_a_sample_is_nothing)
{
    set_up();
    extend(1, 10, 0);
    end(1, 20, 0, 0);
    ck_assert_uint_eq(profile_thread_count(recording_profile(recording)), 0);
    recording_free(recording);
}
END_TEST

/* The kernel's account and the name are read once more at the end: the thread may have been given
 * its name late. */
START_TEST(at_the_end_a_thread_has_its_last_name_and_usage)
{
    set_up();
    for (int i = 0; i < 3; i++) /* the name is read with the first, second and fourth */
        sample(1, 10 * i, 0, THREAD_BLOCKED);
    ck_assert_int_eq(prctl(PR_SET_NAME, "late"), 0);
    end(1, 100, 0, THREAD_STILL_ALIVE);
    ck_assert_str_eq(profile_text(recording_profile(recording), thread(1)->name), "late");
    ck_assert_int_gt(thread(1)->usage.over_ns, 0);
    recording_free(recording);
}
END_TEST

START_TEST(an_execve_is_counted_and_its_thread_goes_on)
{
    set_up();
    struct sample_message execed = message(MESSAGE_EXEC, 0, 50, 0, 0);
    sample(1, 10, 0, THREAD_BLOCKED);
    end(1, 40, 0, 0);
    tell(&execed);
    sample(2, 45, 0, THREAD_BLOCKED);
    struct sample_message again = message(MESSAGE_SAMPLE, 9, 80, 0, 1);
    again.head.tid = getpid();
    again.head.flags = SAMPLE_NO_STACK | SAMPLE_IO_WORKER;
    again.snapshot.state = THREAD_BLOCKED;
    tell(&again);
    ck_assert_double_eq(profile_number(recording_profile(recording), METRIC_EXECS), 1);
    ck_assert_uint_eq(profile_thread_count(recording_profile(recording)), 2);
    ck_assert_int_eq(wall_ms(1, RUN_RUNNING), 30); /* [execve] */
    recording_free(recording);
}
END_TEST

/* At the end of a call that waits a thread was woken just now.  As long as the kernel counts no
 * wait for a CPU, most of the time before was spent in the call, and is shown there. */
START_TEST(a_thread_that_was_woken_is_shown_in_its_call)
{
    set_up();
    const struct profile *p = recording_profile(recording);
    for (int64_t at_ms = 10; at_ms <= 310; at_ms += 100) {
        struct sample_message m = message(MESSAGE_SAMPLE, 1, at_ms, 0, 5);
        m.snapshot.state = THREAD_RUNNABLE;
        m.snapshot.syscall = SYS_nanosleep;
        m.snapshot.regs.known = 1U << X86_PC | 1U << X86_RSP;
        m.snapshot.regs.r[X86_PC] = (uint64_t)(uintptr_t)set_up;
        tell(&m);
    }
    ck_assert_int_eq(wall_ms(1, RUN_RUNNABLE), 200);
    ck_assert_int_eq(wall_ms(1, RUN_BLOCKED), 100);
    const struct run *blocked = &thread(1)->runs[thread(1)->n_runs - 1];
    const struct wait *wait = profile_see_wait(p, blocked->at.wait);
    ck_assert_ptr_nonnull(wait);
    ck_assert_int_eq(wait->kind, WAIT_CALL);
    ck_assert_str_eq(profile_text(p, wait->call), "nanosleep");
    recording_free(recording);
}
END_TEST

/* Each counter of the sampler is shown as one of its own. */
START_TEST(no_counter_of_the_sampler_is_lost)
{
    set_up();
    struct profile *p = recording_profile(recording);
    struct sampler_counters *counters =
        (struct sampler_counters *)(uintptr_t)sampler_counters(recording_sampler(recording));
    for (int i = 0; i < SAMPLER_COUNTER_COUNT; i++)
        counters_add(counters, (enum sampler_counter)i, 1000 + (uint64_t)i);
    snapshot();
    for (int i = 0; i < SAMPLER_COUNTER_COUNT; i++) {
        size_t n = 0;
        for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++)
            n += profile_number(p, m) == 1000 + i;
        ck_assert_msg(n == 1, "counter %d is shown %zu times", i, n);
    }
    recording_snapshot_over(recording);
    recording_free(recording);
}
END_TEST

/* Of how many files were found by their paths. */
static double modules_by_path(void)
{
    snapshot();
    double n = profile_number(recording_profile(recording), METRIC_MODULES_BY_PATH);
    recording_snapshot_over(recording);
    return n;
}

START_TEST(counts_of_several_processes_are_added_up)
{
    struct err err = {0};
    set_up();
    sample(1, 10, 0, THREAD_BLOCKED);
    double one = modules_by_path();
    ck_assert_double_ge(one, 1);
    ck_assert_int_eq(recording_add(recording, getpid(), &err), 0);
    struct sample_message m = message(MESSAGE_SAMPLE, 2, 20, 0, 5);
    m.head.process = 1;
    m.head.flags = SAMPLE_NO_STACK;
    tell(&m);
    ck_assert_double_eq(modules_by_path(), 2 * one);
    recording_free(recording);
}
END_TEST

/* From now on nothing can be opened. */
static void use_up_descriptors(void)
{
    int lowest = open("/", O_PATH);
    struct rlimit limit = {(rlim_t)lowest, (rlim_t)lowest};
    close(lowest);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

START_TEST(a_process_that_cannot_be_sampled_is_not_in_the_profile)
{
    struct err err = {0};
    set_up();
    ck_assert_uint_eq(profile_process_count(recording_profile(recording)), 1);
    use_up_descriptors();
    ck_assert_int_eq(recording_add(recording, getpid(), &err), -EMFILE);
    ck_assert_uint_eq(profile_process_count(recording_profile(recording)), 1);
    recording_free(recording);
}
END_TEST

CHECK_MAIN("recording", 20, the_last_sample_holds_until_the_end,
           a_sample_held_so_far_is_there_before_it_ends,
           samples_stay_with_their_thread_when_another_ends,
           what_holds_on_without_a_sample_is_nothing,
           at_the_end_a_thread_has_its_last_name_and_usage,
           an_execve_is_counted_and_its_thread_goes_on,
           a_thread_that_was_woken_is_shown_in_its_call, no_counter_of_the_sampler_is_lost,
           counts_of_several_processes_are_added_up,
           a_process_that_cannot_be_sampled_is_not_in_the_profile)
