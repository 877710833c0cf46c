/* Who has a lock, of processes that are all this one. */
#include "waits/wait_owner.h"

#include <pthread.h>
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

static void note_holder(void *ctx, uint32_t task, const struct wait_side *side, int64_t at_ns)
{
    pid_t *tid = ctx;
    ck_assert_uint_eq(task, WAITER);
    ck_assert_int_gt(at_ns, 0);
    *tid = side->blocker.tid;
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

CHECK_MAIN_WITH("wait_owner", 20, setup, teardown,
                of_two_processes_that_could_be_meant_none_is_told,
                a_lock_that_has_changed_hands_is_read_again,
                a_wait_that_outlives_anothers_has_an_unknown_holder_at_its_end,
                a_lock_of_many_waiters_is_read_once)
