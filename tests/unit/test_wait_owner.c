/* Who has a lock, of processes that are all this one. */
#include "waits/wait_owner.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/check_main.h"

enum { WAITER = 1005, OWNER = 77, N_PROCESSES = 3 };

static struct wait_target processes[N_PROCESSES];
static struct wait_owners w;
static pthread_mutex_t *shared;

static struct wait_target target_of(void *ctx, uint32_t process)
{
    (void)ctx;
    return process < N_PROCESSES ? processes[process] : (struct wait_target){0};
}

static void setup(void)
{
    struct err err = {0};
    static const struct wait_host host = {.target = target_of};
    w = (struct wait_owners){.host = &host};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    *shared = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    shared->__data.__lock = 2;
    shared->__data.__owner = OWNER;
    shared->__data.__kind = 0x80; /* shared between processes */
    for (pid_t i = 0; i < N_PROCESSES; i++) {
        struct wait_target *p = &processes[i];
        *p = (struct wait_target){.pid = 1000 * (i + 1)};
        ck_assert_int_eq(mem_live_open(&p->live, getpid(), &err), 0);
        p->modules = modules_new(getpid(), p->live);
        ck_assert_int_eq(modules_refresh(p->modules), 0);
    }
}

static void teardown(void)
{
    for (size_t i = 0; i < N_PROCESSES; i++) {
        modules_free(processes[i].modules);
        mem_free(processes[i].live);
    }
    (void)munmap(shared, sizeof *shared);
    wait_owners_release(&w);
}

static struct message thread_of(uint32_t process, pid_t tid, pid_t ns_tid)
{
    return (struct message){
        .process = process, .thread = (uint32_t)tid, .tid = tid, .ns_tid = ns_tid};
}

static struct sample_message sample_of_waiter(void)
{
    return (struct sample_message){
        .head = thread_of(0, WAITER, 5),
        .snapshot = {.syscall = SYS_futex, .syscall_args = {(uintptr_t)shared, 0, 2}}};
}

static struct wait_side side_of_waiter(void)
{
    struct sample_message m = sample_of_waiter();
    return wait_owner_of_futex(&w, &m, processes[0].live);
}

/* Two containers that share memory may each have a thread of that number. */
START_TEST(of_two_processes_that_could_be_meant_none_is_told)
{
    struct message first = thread_of(1, 2077, OWNER);
    struct message second = thread_of(2, 3077, OWNER);
    thread_ids_add(&w.ids, &first);
    thread_ids_add(&w.ids, &second);
    struct wait_side side = side_of_waiter();
    ck_assert_int_eq(side.thing, THING_MUTEX);
    ck_assert_int_eq(side.blocker.kind, BLOCKER_SHARED); /* whoever has it there */
    ck_assert_uint_ne(side.blocker.inode, 0);
    ck_assert_int_eq(side.blocker.tid, 0);
    thread_ids_remove(&w.ids, &second);
    side = side_of_waiter();
    ck_assert_int_eq(side.blocker.kind, BLOCKER_THREAD);
    ck_assert_int_eq(side.blocker.pid, 2000);
    ck_assert_int_eq(side.blocker.tid, 2077);
}
END_TEST

/* The test itself, whose thread has it, is not recorded. */
START_TEST(a_process_that_is_not_recorded_has_it)
{
    shared->__data.__owner = getpid();
    struct profile *p = profile_new(0);
    w.profile = p;
    struct sample_message m = sample_of_waiter();
    m.head.ns_tid = m.head.tid;
    struct blocker b = wait_owner_of_futex(&w, &m, processes[0].live).blocker;
    ck_assert_int_eq(b.kind, BLOCKER_SHARED);
    ck_assert_int_eq(b.pid, getpid());
    ck_assert_str_ne(profile_text(p, b.name), "");
    m.head.ns_tid = 5; /* of another namespace, where that number is another thread's */
    ck_assert_int_eq(wait_owner_of_futex(&w, &m, processes[0].live).blocker.pid, 0);
    shared->__data.__owner = 1; /* that has nothing of it */
    m.head.ns_tid = m.head.tid;
    b = wait_owner_of_futex(&w, &m, processes[0].live).blocker;
    ck_assert_int_eq(b.kind, BLOCKER_SHARED);
    ck_assert_int_eq(b.pid, 0);
    profile_free(p);
}
END_TEST

/* A semaphore's word leaves no trace of who has it. */
START_TEST(of_a_word_without_an_owner_the_file_is_told)
{
    struct profile *p = profile_new(0);
    w.profile = p;
    *shared = (pthread_mutex_t){0};
    struct sample_message m = sample_of_waiter();
    m.snapshot.syscall_args[2] = 0;
    struct wait_side side = wait_owner_of_futex(&w, &m, processes[0].live);
    ck_assert_int_eq(side.thing, THING_UNKNOWN);
    ck_assert_int_eq(side.blocker.kind, BLOCKER_SHARED);
    ck_assert_int_eq(side.blocker.pid, 0);
    ck_assert_str_eq(profile_text(p, side.blocker.name), "/dev/zero");
    m.snapshot.syscall_args[1] = FUTEX_PRIVATE_FLAG;
    side = wait_owner_of_futex(&w, &m, processes[0].live);
    ck_assert_int_eq(side.blocker.kind, BLOCKER_UNKNOWN);
    profile_free(p);
}
END_TEST

/* Words of std::future are waited for as if other processes had them, too. */
START_TEST(what_lies_in_own_memory_ends_inside_of_the_process)
{
    uint32_t *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(own, MAP_FAILED);
    ck_assert_int_eq(modules_refresh(processes[0].modules), 0);
    struct sample_message m = sample_of_waiter();
    ck_assert(!wait_owner_of_futex(&w, &m, processes[0].live).inside);
    m.snapshot.syscall_args[0] = (uintptr_t)own;
    ck_assert(wait_owner_of_futex(&w, &m, processes[0].live).inside);
    m.snapshot.syscall_args[0] = 0; /* nothing lies there */
    ck_assert(!wait_owner_of_futex(&w, &m, processes[0].live).inside);
    (void)munmap(own, 4096);
}
END_TEST

static void note_holder(void *ctx, uint32_t task, const struct wait_side *side, int64_t at_ns)
{
    pid_t *tid = ctx;
    ck_assert_uint_eq(task, WAITER);
    ck_assert_int_gt(at_ns, 0);
    *tid = side->blocker.tid;
}

/* The holders that WAITER and the thread behind it were told. */
static void note_both(void *ctx, uint32_t task, const struct wait_side *side, int64_t at_ns)
{
    pid_t *told = ctx;
    (void)at_ns;
    told[task - WAITER] = side->blocker.tid;
}

/* Whom it was given to is not recorded. */
START_TEST(a_lock_that_has_changed_hands_is_read_again)
{
    pid_t now = 0;
    struct message first = thread_of(0, 1077, OWNER);
    struct message second = thread_of(0, 1078, OWNER + 1);
    thread_ids_add(&w.ids, &first);
    thread_ids_add(&w.ids, &second);
    ck_assert_int_eq(side_of_waiter().blocker.tid, 1077);
    wait_owners_doubt_all(&w);
    wait_owners_look_again(&w, note_holder, &now);
    ck_assert_int_eq(now, 0); /* no news */
    shared->__data.__owner = OWNER + 1;
    wait_owners_look_again(&w, note_holder, &now);
    ck_assert_int_eq(now, 0);
    wait_owners_doubt_all(&w);
    wait_owners_look_again(&w, note_holder, &now);
    ck_assert_int_eq(now, 1078);
}
END_TEST

/* Both waits end before the lock could be read again. */
START_TEST(a_wait_that_outlives_anothers_has_an_unknown_holder_at_its_end)
{
    pid_t now = -1;
    struct message first = thread_of(0, 1077, OWNER);
    thread_ids_add(&w.ids, &first);
    ck_assert_int_eq(side_of_waiter().blocker.tid, 1077);
    struct sample_message other = sample_of_waiter();
    other.head.thread = WAITER + 1;
    other.head.time_ns = 5;
    (void)wait_owner_of_futex(&w, &other, processes[0].live);
    wait_owners_end_wait(&w, &other.head, note_holder, &now);
    ck_assert_int_eq(now, -1); /* nobody got it meanwhile, as far as is known */
    struct sample_message waiter = sample_of_waiter();
    wait_owners_end_wait(&w, &waiter.head, note_holder, &now);
    ck_assert_int_eq(now, 0);
}
END_TEST

/* ---- locks that the sampler reads ---- */

enum { MS = 1000000, INTERVAL_MS = 10, BEGUN_MS = 1000, MOST_NOTED = 4 };

static struct {
    struct {
        pid_t holder;
        int64_t at_ms;
    } changes[MOST_NOTED];
    size_t n;
} noted;
static enum wait_thing wanted_thing = THING_MUTEX;

static void note_change(void *ctx, uint32_t task, const struct wait_side *side, int64_t at_ns)
{
    (void)ctx;
    ck_assert_uint_eq(task, WAITER);
    ck_assert_uint_lt(noted.n, MOST_NOTED);
    ck_assert_int_eq(side->thing, wanted_thing);
    noted.changes[noted.n].holder = side->blocker.tid;
    noted.changes[noted.n++].at_ms = at_ns / MS;
}

/* A wait that is watched, and two threads that may have the lock. */
static void begin_watched_wait(void)
{
    struct message first = thread_of(0, 1077, OWNER);
    struct message second = thread_of(0, 1078, OWNER + 1);
    struct sample_message m = sample_of_waiter();
    m.head.flags = SAMPLE_LOCK_WATCHED;
    m.head.time_ns = (int64_t)BEGUN_MS * MS;
    thread_ids_add(&w.ids, &first);
    thread_ids_add(&w.ids, &second);
    ck_assert_int_eq(wait_owner_of_futex(&w, &m, processes[0].live).blocker.tid, 1077);
    noted.n = 0;
}

/* HOLDER 0: the lock was not read. */
static void see_lock(pid_t holder, int since_ms, int read_ms)
{
    struct lock_message m = {.head = {.kind = MESSAGE_LOCK,
                                      .time_ns = (int64_t)read_ms * MS,
                                      .look_ns = (int64_t)INTERVAL_MS * MS},
                             .word = (uintptr_t)shared,
                             .since_ns = (int64_t)since_ms * MS,
                             .n_bytes = holder ? 20 : 0};
    const pthread_mutex_t lock = {
        .__data = {.__lock = 2, .__owner = holder, .__kind = shared->__data.__kind}};
    memcpy(m.bytes, &lock, 20);
    wait_owners_see_lock(&w, &m, note_change, NULL);
}

static void assert_change(size_t i, pid_t holder, int at_ms)
{
    ck_assert_uint_gt(noted.n, i);
    ck_assert_int_eq(noted.changes[i].holder, holder);
    ck_assert_int_eq(noted.changes[i].at_ms, at_ms);
}

START_TEST(a_reading_counts_from_the_middle_since_the_one_before)
{
    begin_watched_wait();
    see_lock(OWNER, 0, BEGUN_MS + 8);
    ck_assert_uint_eq(noted.n, 0); /* no news */
    see_lock(OWNER + 1, BEGUN_MS + 8, BEGUN_MS + 18);
    assert_change(0, 1078, BEGUN_MS + 13);
    see_lock(OWNER, BEGUN_MS + 18, BEGUN_MS + 28);
    assert_change(1, 1077, BEGUN_MS + 23);
    ck_assert_uint_eq(noted.n, 2);
}
END_TEST

/* Its sample found that nobody had it: the next reading does not. */
START_TEST(an_rwlock_that_is_just_given_on_is_read_later)
{
    enum { WAITED = 3, PHASE_AND_LOCKED = 3, WRITERS_FUTEX = 12, WRITER = 24 };
    struct sample_message m = sample_of_waiter();
    struct lock_message lock = {
        .head = {.time_ns = (int64_t)(BEGUN_MS + 4) * MS, .look_ns = (int64_t)INTERVAL_MS * MS},
        .before = WRITERS_FUTEX,
        .n_bytes = WRITER + sizeof(uint32_t)};
    const uint32_t words[] = {PHASE_AND_LOCKED, 0, 1, WAITED, 0, 0, OWNER};
    memset(shared, 0, sizeof *shared);
    noted.n = 0;
    m.head.flags = SAMPLE_LOCK_WATCHED;
    m.head.time_ns = (int64_t)BEGUN_MS * MS;
    m.snapshot.syscall_args[0] = lock.word = (uintptr_t)shared + WRITERS_FUTEX;
    m.snapshot.syscall_args[1] = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
    m.snapshot.syscall_args[2] = WAITED;
    struct message owner = thread_of(0, 1077, OWNER);
    thread_ids_add(&w.ids, &owner);
    ck_assert_int_eq(wait_owner_of_futex(&w, &m, processes[0].live).thing, THING_UNKNOWN);
    memcpy(lock.bytes, words, sizeof words);
    wanted_thing = THING_RWLOCK;
    wait_owners_see_lock(&w, &lock, note_change, NULL);
    wanted_thing = THING_MUTEX;
    ck_assert_uint_eq(noted.n, 1);
    assert_change(0, 1077, BEGUN_MS + 2);
}
END_TEST

/* The one before is older than the wait. */
START_TEST(a_reading_counts_from_the_middle_since_the_sample)
{
    begin_watched_wait();
    see_lock(OWNER + 1, BEGUN_MS - 6, BEGUN_MS + 4);
    assert_change(0, 1078, BEGUN_MS + 2);
    see_lock(OWNER, BEGUN_MS - 16, BEGUN_MS - 6); /* of before the wait: no news */
    ck_assert_uint_eq(noted.n, 1);
}
END_TEST

START_TEST(time_that_is_not_read_has_no_holder)
{
    begin_watched_wait();
    see_lock(OWNER + 1, BEGUN_MS, BEGUN_MS + 100);
    assert_change(0, 0, BEGUN_MS + INTERVAL_MS);
    assert_change(1, 1078, BEGUN_MS + 100 - INTERVAL_MS);
    see_lock(0, BEGUN_MS + 100, BEGUN_MS + 150); /* was read last */
    assert_change(2, 0, BEGUN_MS + 150 + INTERVAL_MS);
    see_lock(OWNER, BEGUN_MS + 150, BEGUN_MS + 165);
    assert_change(3, 1077, BEGUN_MS + 158 - 1);
}
END_TEST

/* The sampler will tell who has it. */
START_TEST(a_watched_lock_is_not_in_doubt)
{
    begin_watched_wait();
    struct sample_message other = sample_of_waiter();
    other.head.thread = WAITER + 1;
    other.head.time_ns = (int64_t)(BEGUN_MS + 5) * MS;
    (void)wait_owner_of_futex(&w, &other, processes[0].live);
    wait_owners_end_wait(&w, &other.head, note_change, NULL);
    wait_owners_look_again(&w, note_change, NULL);
    ck_assert_uint_eq(noted.n, 0);
    see_lock(1005, 0, BEGUN_MS + 10); /* the waiter's own number there: nobody's that is known */
    assert_change(0, 0, BEGUN_MS + 5);
}
END_TEST

/* It has got the lock, and the message of its end comes behind. */
START_TEST(a_thread_does_not_wait_for_itself)
{
    begin_watched_wait();
    struct message itself = thread_of(0, WAITER, 5);
    thread_ids_add(&w.ids, &itself);
    see_lock(5, 0, BEGUN_MS + 10);
    ck_assert_uint_eq(noted.n, 0);
}
END_TEST

/* The same where the lock was in doubt: who still waits does so for that thread. */
START_TEST(a_thread_that_was_given_the_lock_is_the_others_holder)
{
    pid_t told[2] = {0};
    struct message first = thread_of(0, 1077, OWNER);
    struct message itself = thread_of(0, WAITER, WAITER);
    thread_ids_add(&w.ids, &first);
    thread_ids_add(&w.ids, &itself);
    for (pid_t i = 0; i < 2; i++) {
        struct sample_message m = sample_of_waiter();
        m.head = thread_of(0, WAITER + i, WAITER + i);
        ck_assert_int_eq(wait_owner_of_futex(&w, &m, processes[0].live).blocker.tid, 1077);
    }
    shared->__data.__owner = WAITER;
    wait_owners_doubt_all(&w);
    wait_owners_look_again(&w, note_both, told);
    ck_assert_int_eq(told[0], 0);
    ck_assert_int_eq(told[1], WAITER);
}
END_TEST

/* ---- locks of Python's ---- */

enum { GIVEN_MS = BEGUN_MS + 50 };

/* A wait since BEGUN_MS for a lock of Python's whose holder was looked at and found at FOUND_MS.
 * Between BEGUN_MS + 50 and + 60 another thread's wait for it ends, as KIND and FLAGS say. */
static const struct lock_wait *end_other_wait(int found_ms, enum message_kind kind, uint32_t flags)
{
    struct sample_message other = sample_of_waiter();
    other.head.thread = WAITER + 1;
    begin_watched_wait();
    (void)wait_owner_of_futex(&w, &other, processes[0].live);
    struct lock_wait *wait = &w.waits[0];
    wait->watched = false;
    wait->py_lock.addr = wait->addr;
    wait->found_ns = (int64_t)found_ms * MS;
    other.head.until_ns = (int64_t)GIVEN_MS * MS;
    other.head.time_ns = (int64_t)(GIVEN_MS + INTERVAL_MS) * MS;
    other.head.kind = kind;
    other.head.flags |= flags;
    wait_owners_end_wait(&w, &other.head, note_change, NULL);
    ck_assert_uint_eq(w.n_waits, 1);
    return wait;
}

/* Then the lock changes hands. */
static const struct lock_wait *pass_python_lock(int found_ms)
{
    const struct lock_wait *wait = end_other_wait(found_ms, MESSAGE_SAMPLE, 0);
    ck_assert_int_eq(wait->passed_ns / MS, GIVEN_MS + INTERVAL_MS / 2);
    return wait;
}

START_TEST(a_python_lock_changes_no_hands_because_the_recording_ends)
{
    const struct lock_wait *wait =
        end_other_wait(BEGUN_MS + 30, MESSAGE_THREAD_END, THREAD_STILL_ALIVE);
    ck_assert_uint_eq(noted.n, 0);
    ck_assert(!wait->sought);
}
END_TEST

START_TEST(a_python_lock_that_changes_hands_is_searched_for_again)
{
    const struct lock_wait *wait = pass_python_lock(BEGUN_MS + 30);
    assert_change(0, 0, BEGUN_MS + 55);
    ck_assert_uint_eq(noted.n, 1);
    ck_assert(wait->sought);
}
END_TEST

/* The message of the hand-over comes later than the search. */
START_TEST(a_holder_found_behind_a_hand_over_was_none_before_it)
{
    const struct lock_wait *wait = pass_python_lock(BEGUN_MS + 70);
    assert_change(0, 0, BEGUN_MS);
    assert_change(1, 1077, BEGUN_MS + 55);
    ck_assert(!wait->sought);
    ck_assert_int_eq(wait->side.blocker.tid, 1077);
}
END_TEST

START_TEST(a_holder_found_during_a_hand_over_is_none)
{
    const struct lock_wait *wait = pass_python_lock(BEGUN_MS + 52);
    assert_change(0, 0, BEGUN_MS);
    ck_assert_uint_eq(noted.n, 1);
    ck_assert(wait->sought);
}
END_TEST

static size_t n_reads;

static int count_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    (void)m;
    n_reads++;
    return mem_read(processes[1].live, addr, buf, len);
}

static void count_holder(void *ctx, uint32_t task, const struct wait_side *side, int64_t at_ns)
{
    size_t *n = ctx;
    (void)task;
    (void)at_ns;
    *n += side->blocker.tid == 1078;
}

START_TEST(a_lock_of_many_waiters_is_read_once)
{
    enum { WAITERS = 1000 };
    static const struct mem_ops counting = {.read = count_read};
    struct mem counted = {&counting};
    struct mem *live = processes[0].live;
    size_t n = 0;
    struct message second = thread_of(0, 1078, OWNER + 1);
    thread_ids_add(&w.ids, &second);
    for (pid_t i = 0; i < WAITERS; i++) {
        struct sample_message m = sample_of_waiter();
        m.head.thread = (uint32_t)i;
        m.head.tid = m.head.ns_tid = 2000 + i;
        (void)wait_owner_of_futex(&w, &m, live);
    }
    shared->__data.__owner = OWNER + 1;
    processes[0].live = &counted;
    wait_owners_doubt_all(&w);
    wait_owners_look_again(&w, count_holder, &n);
    processes[0].live = live;
    ck_assert_uint_eq(n, WAITERS);
    ck_assert_uint_lt(n_reads, 20);
}
END_TEST

CHECK_MAIN_WITH(
    "wait_owner", 20, setup, teardown, of_two_processes_that_could_be_meant_none_is_told,
    a_process_that_is_not_recorded_has_it, what_lies_in_own_memory_ends_inside_of_the_process,
    of_a_word_without_an_owner_the_file_is_told, a_lock_that_has_changed_hands_is_read_again,
    a_wait_that_outlives_anothers_has_an_unknown_holder_at_its_end,
    a_reading_counts_from_the_middle_since_the_one_before,
    a_reading_counts_from_the_middle_since_the_sample, time_that_is_not_read_has_no_holder,
    a_watched_lock_is_not_in_doubt, a_thread_does_not_wait_for_itself,
    a_thread_that_was_given_the_lock_is_the_others_holder,
    a_python_lock_that_changes_hands_is_searched_for_again,
    a_python_lock_changes_no_hands_because_the_recording_ends,
    a_holder_found_behind_a_hand_over_was_none_before_it, a_holder_found_during_a_hand_over_is_none,
    an_rwlock_that_is_just_given_on_is_read_later, a_lock_of_many_waiters_is_read_once)
