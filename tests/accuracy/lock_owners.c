/* Threads that take locks of every kind at random, and keep a record of who has which when.
 *
 * usage: lock_owners contend SECONDS | circle N | inherit
 *
 * contend: prints "ready PID…", and at the end "kind LOCK NAME", "waiter LOCK TID" of each thread,
 * and for each time that a lock was had, "held LOCK TID ASKED TOOK GIVES GAVE": the clock
 * (CLOCK_MONOTONIC, ns) before and after it was taken, and before and after it was given up.  A
 * thread that is joined has itself from its birth to its end.
 * circle: N threads wait for each other for ever, and one behind them.  inherit: a child waits for
 * a lock that a thread of its parent had at the time of fork(2).
 */
#include "tests/support/clock.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RECORDS = 4096, MAX_ACTORS = 160, COPIES = 2, LOCKS = 36 };

enum kind {
    NORMAL,
    NORMAL_SET,
    RECURSIVE,
    ERRORCHECK,
    ADAPTIVE,
    ROBUST,
    INHERITING,
    ROBUST_INHERITING,
    SHARED_INSIDE,
    TIMED,
    CLOCKED,
    C11,
    CONDITION, /* whose mutex is given up and taken again inside of pthread_cond_timedwait() */
    RWLOCK,
    RWLOCK_TIMED,
    JOIN,
    SHARED_BETWEEN, /* two processes */
    SHARED_RWLOCK,
    KINDS
};
static const char *const names[KINDS] = {"normal",     "normal-set",     "recursive",
                                         "errorcheck", "adaptive",       "robust",
                                         "inherit",    "robust-inherit", "shared-inside",
                                         "timed",      "clocked",        "c11",
                                         "condition",  "rwlock",         "rwlock-timed",
                                         "join",       "shared-between", "shared-rwlock"};

static_assert(LOCKS == KINDS * COPIES, "each kind has its locks");

struct record {
    int64_t asked, took, gives, gave;
    pid_t tid;
};
struct station {
    union {
        pthread_mutex_t mutex;
        pthread_rwlock_t rwlock;
        mtx_t mtx;
    } lock;
    pthread_cond_t condition;
    enum kind kind;
};
struct actor {
    pthread_t thread;
    pid_t tid;
    struct station *station;
    int64_t born_ns; /* the thread that it joins, at the earliest */
    int number;
    unsigned seed;
    struct record records[MAX_RECORDS];
    size_t n;
};
/* In memory that both processes share. */
static struct world {
    struct station stations[LOCKS];
    struct actor actors[MAX_ACTORS];
    size_t n_actors;
    int64_t end_ns;
    bool other_is_ready;
} * world;

static struct timespec in_ns(clockid_t clock, int64_t ns)
{
    ns += clock_ns(clock);
    return (struct timespec){ns / 1000000000, ns % 1000000000};
}

static void rest(struct actor *a, int most_ms)
{
    (void)usleep((useconds_t)(rand_r(&a->seed) % (most_ms * 1000) + 500));
}

static void make_mutex(struct station *s, int type, int protocol, int robust, int shared)
{
    pthread_mutexattr_t attributes;
    (void)pthread_mutexattr_init(&attributes);
    (void)pthread_mutexattr_settype(&attributes, type);
    (void)pthread_mutexattr_setprotocol(&attributes, protocol);
    (void)pthread_mutexattr_setrobust(&attributes, robust);
    (void)pthread_mutexattr_setpshared(&attributes, shared);
    if (pthread_mutex_init(&s->lock.mutex, &attributes) != 0)
        abort();
}

static void make_rwlock(struct station *s, int shared)
{
    pthread_rwlockattr_t attributes;
    (void)pthread_rwlockattr_init(&attributes);
    (void)pthread_rwlockattr_setpshared(&attributes, shared);
    if (pthread_rwlock_init(&s->lock.rwlock, &attributes) != 0)
        abort();
}

static void make(struct station *s, enum kind kind)
{
    const int none = PTHREAD_PRIO_NONE;
    const int stalled = PTHREAD_MUTEX_STALLED;
    s->kind = kind;
    switch (kind) {
    case NORMAL:
    case TIMED:
    case CLOCKED:
    case CONDITION:
        (void)pthread_mutex_init(&s->lock.mutex, NULL);
        (void)pthread_cond_init(&s->condition, NULL);
        break;
    case NORMAL_SET:
        make_mutex(s, PTHREAD_MUTEX_NORMAL, none, stalled, 0);
        break;
    case RECURSIVE:
        make_mutex(s, PTHREAD_MUTEX_RECURSIVE, none, stalled, 0);
        break;
    case ERRORCHECK:
        make_mutex(s, PTHREAD_MUTEX_ERRORCHECK, none, stalled, 0);
        break;
    case ADAPTIVE:
        make_mutex(s, PTHREAD_MUTEX_ADAPTIVE_NP, none, stalled, 0);
        break;
    case ROBUST:
        make_mutex(s, PTHREAD_MUTEX_DEFAULT, none, PTHREAD_MUTEX_ROBUST, 0);
        break;
    case INHERITING:
        make_mutex(s, PTHREAD_MUTEX_DEFAULT, PTHREAD_PRIO_INHERIT, stalled, 0);
        break;
    case ROBUST_INHERITING:
        make_mutex(s, PTHREAD_MUTEX_DEFAULT, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST, 0);
        break;
    case SHARED_INSIDE:
    case SHARED_BETWEEN:
        make_mutex(s, PTHREAD_MUTEX_DEFAULT, none, stalled, 1);
        break;
    case C11:
        (void)mtx_init(&s->lock.mtx, mtx_plain);
        break;
    case RWLOCK:
    case RWLOCK_TIMED:
    case SHARED_RWLOCK:
        make_rwlock(s, kind == SHARED_RWLOCK);
        break;
    case JOIN:
    case KINDS:
        break;
    }
}

static bool is_rwlock(enum kind kind)
{
    return kind == RWLOCK || kind == SHARED_RWLOCK || kind == RWLOCK_TIMED;
}

/* False: its time ran out. */
static bool take(struct actor *a)
{
    struct station *s = a->station;
    struct timespec until = in_ns(CLOCK_REALTIME, 15000000);
    struct timespec clocked = in_ns(CLOCK_MONOTONIC, 15000000);
    if (s->kind == TIMED)
        return pthread_mutex_timedlock(&s->lock.mutex, &until) == 0;
    if (s->kind == CLOCKED)
        return pthread_mutex_clocklock(&s->lock.mutex, CLOCK_MONOTONIC, &clocked) == 0;
    if (s->kind == C11)
        return mtx_lock(&s->lock.mtx) == thrd_success;
    if (s->kind == RWLOCK_TIMED)
        return pthread_rwlock_timedwrlock(&s->lock.rwlock, &until) == 0;
    if (is_rwlock(s->kind))
        return pthread_rwlock_wrlock(&s->lock.rwlock) == 0;
    return pthread_mutex_lock(&s->lock.mutex) == 0;
}

static void give(struct station *s)
{
    if (is_rwlock(s->kind))
        (void)pthread_rwlock_unlock(&s->lock.rwlock);
    else if (s->kind == C11)
        (void)mtx_unlock(&s->lock.mtx);
    else
        (void)pthread_mutex_unlock(&s->lock.mutex);
}

static void keep(struct actor *a, const struct record *r)
{
    if (a->n < MAX_RECORDS)
        a->records[a->n++] = *r;
}

/* Waits on the condition for a while, which nobody signals.  The lock is another's meanwhile. */
static void wait_inside(struct actor *a, struct record *r)
{
    struct timespec until = in_ns(CLOCK_REALTIME, 3000000);
    r->gives = now_ns();
    (void)pthread_cond_timedwait(&a->station->condition, &a->station->lock.mutex, &until);
    r->gave = now_ns();
    int64_t again = r->gives;
    keep(a, r);
    /* Somewhere in that call it gave the lock up and took it again. */
    *r = (struct record){.asked = again, .took = r->gave, .tid = r->tid};
}

static void read_only(struct actor *a)
{
    if (pthread_rwlock_rdlock(&a->station->lock.rwlock) == 0) {
        rest(a, 2);
        (void)pthread_rwlock_unlock(&a->station->lock.rwlock);
    }
}

static void *contend(void *actor)
{
    struct actor *a = actor;
    bool reads = a->number == 0 && is_rwlock(a->station->kind);
    a->tid = gettid();
    while (now_ns() < world->end_ns) {
        struct record r = {.asked = now_ns(), .tid = gettid()};
        if (reads) {
            read_only(a);
        } else if (take(a)) {
            r.took = now_ns();
            rest(a, 25);
            if (a->station->kind == CONDITION && rand_r(&a->seed) % 2)
                wait_inside(a, &r);
            r.gives = now_ns();
            give(a->station);
            r.gave = now_ns();
            keep(a, &r);
        }
        rest(a, 5);
    }
    return NULL;
}

static void *live(void *actor)
{
    struct actor *a = actor;
    struct record r = {.asked = a->born_ns, .took = now_ns(), .tid = gettid()};
    rest(a, 40);
    r.gives = now_ns();
    r.gave = INT64_MAX;
    keep(a, &r);
    return NULL;
}

/* The record of a thread that was joined ends when it is gone. */
static void *join(void *actor)
{
    struct actor *a = actor;
    a->tid = gettid();
    while (now_ns() < world->end_ns) {
        pthread_t thread;
        a->born_ns = now_ns();
        if (pthread_create(&thread, NULL, live, a) != 0)
            abort();
        (void)pthread_join(thread, NULL);
        if (a->n)
            a->records[a->n - 1].gave = now_ns();
        rest(a, 5);
    }
    return NULL;
}

static void start(struct station *s, int number)
{
    struct actor *a = &world->actors[world->n_actors++];
    a->station = s;
    a->number = number;
    a->seed = (unsigned)(number * 7 + 1) + (unsigned)(s - world->stations) * 131;
    if (pthread_create(&a->thread, NULL, s->kind == JOIN ? join : contend, a) != 0)
        abort();
}

static bool is_between(enum kind kind)
{
    return kind == SHARED_BETWEEN || kind == SHARED_RWLOCK;
}

/* The threads of the second process take part at the stations that both share. */
static pid_t second_process(void)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    size_t first = world->n_actors;
    for (size_t i = 0; i < sizeof world->stations / sizeof *world->stations; i++)
        if (is_between(world->stations[i].kind))
            start(&world->stations[i], 3);
    world->other_is_ready = true;
    size_t n = world->n_actors;
    for (size_t i = first; i < n; i++)
        (void)pthread_join(world->actors[i].thread, NULL);
    for (;;)
        (void)pause();
}

static void print_records(void)
{
    for (size_t i = 0; i < LOCKS; i++)
        printf("kind %zu %s\n", i, names[world->stations[i].kind]);
    for (size_t i = 0; i < world->n_actors; i++) {
        const struct actor *a = &world->actors[i];
        printf("waiter %td %d\n", a->station - world->stations, a->tid);
        for (size_t k = 0; k < a->n; k++)
            printf("held %td %d %lld %lld %lld %lld\n", a->station - world->stations,
                   a->records[k].tid, (long long)a->records[k].asked, (long long)a->records[k].took,
                   (long long)a->records[k].gives, (long long)a->records[k].gave);
    }
}

static int run_contention(double seconds)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int copy = 0; copy < COPIES; copy++)
            make(&world->stations[kind * COPIES + copy], (enum kind)kind);
    world->end_ns = now_ns() + (int64_t)(seconds * 1e9);
    pid_t other = second_process();
    while (!*(volatile bool *)&world->other_is_ready)
        (void)usleep(1000);
    size_t first = world->n_actors;
    for (size_t i = 0; i < LOCKS; i++)
        for (int n = 0; n < (world->stations[i].kind == JOIN ? 1 : 3); n++)
            start(&world->stations[i], n);
    printf("ready %d %d\n", getpid(), other);
    (void)fflush(stdout);
    for (size_t i = first; i < world->n_actors; i++)
        (void)pthread_join(world->actors[i].thread, NULL);
    (void)usleep(100000); /* the other's threads end, too */
    print_records();
    (void)kill(other, SIGKILL);
    return 0;
}

/* ---- circles ---- */

enum { MOST_IN_CIRCLE = 5 };
static pthread_mutex_t ring[MOST_IN_CIRCLE];
static pthread_barrier_t all_have_one;
static int in_circle;

static void *stand_in_circle(void *number)
{
    int own = (int)(intptr_t)number;
    (void)pthread_mutex_lock(&ring[own]);
    printf("tid %d\n", gettid());
    (void)pthread_barrier_wait(&all_have_one);
    (void)pthread_mutex_lock(&ring[(own + 1) % in_circle]);
    return NULL;
}

static int run_circle(int n)
{
    pthread_t threads[MOST_IN_CIRCLE] = {0};
    in_circle = n;
    (void)pthread_barrier_init(&all_have_one, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++) {
        (void)pthread_mutex_init(&ring[i], NULL);
        if (pthread_create(&threads[i], NULL, stand_in_circle, (void *)(intptr_t)i) != 0)
            abort();
    }
    (void)pthread_barrier_wait(&all_have_one);
    printf("ready %d\n", getpid());
    (void)fflush(stdout);
    (void)pthread_join(threads[0], NULL);
    return 1;
}

/* ---- fork ---- */

static void *hold(void *unused)
{
    (void)pthread_mutex_lock(&ring[0]);
    (void)pthread_barrier_wait(&all_have_one);
    (void)pause();
    return unused;
}

static int run_inheritance(void)
{
    pthread_t thread;
    (void)pthread_barrier_init(&all_have_one, NULL, 2);
    if (pthread_create(&thread, NULL, hold, NULL) != 0)
        abort();
    (void)pthread_barrier_wait(&all_have_one);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)pthread_mutex_lock(&ring[0]);
        return 1;
    }
    printf("ready %d %d\n", getpid(), child);
    (void)fflush(stdout);
    return pause();
}

int main(int argc, char **argv)
{
    world = mmap(NULL, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (world == MAP_FAILED || argc < 2)
        return 2;
    if (strcmp(argv[1], "contend") == 0 && argc == 3)
        return run_contention(strtod(argv[2], NULL));
    if (strcmp(argv[1], "circle") == 0 && argc == 3)
        return run_circle((int)strtol(argv[2], NULL, 10));
    return strcmp(argv[1], "inherit") == 0 ? run_inheritance() : 2;
}
