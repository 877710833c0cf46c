/* A day's recording in seconds: what the worker makes of the sampler's messages, fed with a day of
 * them, and the file.
 *
 * usage: day MAX_BYTES FILE [RUNNERS [STACKS [HOURS]]]
 *
 * A FILE.wallspy grows meanwhile, as wallspy's own do; any other is written at the end.
 *
 * RUNNERS (2) threads that run, each in another one of STACKS (5000) at almost every tick of
 * 100 Hz; one that waits all day; a new one each second, which lives for some ticks.  Says every
 * two hours how much memory is in use, at the end what was fed: "KEY VALUE" a line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "exporter/exporter.h"
#include "recording/growing.h"
#include "recording/store.h"
#include "worker/timeline.h"

enum {
    MOST_HOURS = 24,
    GROWS_EVERY_S = 2,
    RATE_HZ = 100,
    MOST_STACKS = 5000, /* with 12 frames of their own each: the callees of 100 common callers */
    CALLERS = 100,
    DEPTH = 12,
    MOST_RUNNERS = 64,
    JOB_TICKS = 5,
    WAITING_BYTES = 1 << 16, /* as a pipe holds */
};
static const int64_t interval_ns = NS_PER_S / RATE_HZ;

struct day {
    struct profile *p;
    process_id process;
    int n_runners, n_stacks, hours;
    struct store *store; /* NULL: no file grows */
    struct growing *growing;
    struct text waiting_entries;
    int64_t store_cpu_ns; /* of what the file's own process does */
    stack_id stacks[MOST_STACKS];
    struct spot waiting;
    struct thread_timeline timelines[MOST_RUNNERS], waiter, job;
    struct schedstat sched[MOST_RUNNERS];
    uint64_t random;
    uint64_t jobs, samples;
};

static uint64_t next_random(struct day *d)
{
    d->random ^= d->random << 13;
    d->random ^= d->random >> 7;
    d->random ^= d->random << 17;
    return d->random;
}

static frame_id frame(struct day *d, const char *kind, int number)
{
    char name[64];
    (void)snprintf(name, sizeof name, "some::name::space::%s_%d", kind, number);
    return profile_mark(d->p, name, "[libsome.so.1] /usr/src/some/place/file.c");
}

static void make_stacks(struct day *d)
{
    stack_id root = profile_push(d->p, (stack_id){0}, frame(d, "main", 0));
    for (int i = 0; i < d->n_stacks; i++) {
        d->stacks[i] = profile_push(d->p, root, frame(d, "caller", i % CALLERS));
        for (int k = 0; k < DEPTH; k++)
            d->stacks[i] = profile_push(d->p, d->stacks[i], frame(d, "callee", i + k));
    }
    struct wait wait = {.kind = WAIT_CALL, .call = profile_string(d->p, "futex")};
    d->waiting = (struct spot){root, profile_wait(d->p, &wait)};
}

static struct thread_timeline timeline(struct day *d, pid_t tid, const char *name, int64_t now_ns)
{
    thread_id t = profile_thread(d->p, d->process, tid, profile_string(d->p, name), now_ns);
    profile_get_thread(d->p, t)->main = tid == 1;
    return (struct thread_timeline){.thread = t};
}

static void start(struct day *d)
{
    make_stacks(d);
    d->random = 1;
    d->process = profile_process(
        d->p, &(struct profile_process){.pid = 1, .comm = profile_string(d->p, "program")});
    for (int i = 0; i < d->n_runners; i++) {
        d->timelines[i] = timeline(d, 1 + i, i ? "runner" : "main", 0);
        d->sched[i].runs = 1; /* 0: not counted */
    }
    d->waiter = timeline(d, 1 + d->n_runners, "waiter", 0);
    struct message m = {.sched = {0, 0, 1}};
    thread_timeline_open(&d->waiter, &m, d->waiting, d->waiting, RUN_BLOCKED, false);
}

static void next_sample(struct day *d, struct thread_timeline *timeline, struct schedstat *sched,
                        int64_t now_ns)
{
    uint64_t random = next_random(d);
    struct spot at = spot_of_stack(d->stacks[random / 8 % (unsigned)d->n_stacks]);
    bool runs = random % 4 != 0;
    struct message m = {.time_ns = now_ns, .interval_ns = interval_ns, .sched = *sched};
    thread_timeline_close(timeline, d->p, &m, 0);
    thread_timeline_open(timeline, &m, at, at, runs ? RUN_RUNNING : RUN_BLOCKED, false);
    sched->run_ns += runs ? 9000000 : 1000000;
    sched->wait_ns += runs ? 500000 : 0;
    sched->runs++;
    d->samples++;
}

static struct message message(int64_t now_ns, uint32_t flags)
{
    return (struct message){.time_ns = now_ns,
                            .until_ns = now_ns,
                            .interval_ns = interval_ns,
                            .flags = flags,
                            .sched = {0, 0, 1}};
}

/* Each second's. */
static void see_to_job(struct day *d, int64_t tick, int64_t now_ns)
{
    char name[32];
    struct message m = message(now_ns, 0);
    if (tick % RATE_HZ == 0) {
        (void)snprintf(name, sizeof name, "job-%" PRIu64, d->jobs % 50);
        d->job = timeline(d, 100 + (pid_t)d->jobs++, name, now_ns);
        struct spot at = spot_of_stack(d->stacks[tick % d->n_stacks]);
        thread_timeline_open(&d->job, &m, at, at, RUN_BLOCKED, false);
        d->samples++;
    } else if (tick % RATE_HZ == JOB_TICKS) {
        thread_timeline_close(&d->job, d->p, &m, 0);
        thread_timeline_end(&d->job, d->p, &m, 0);
    }
}

static void end(struct day *d, int64_t now_ns)
{
    struct message m = message(now_ns, THREAD_STILL_ALIVE);
    thread_timeline_close(&d->waiter, d->p, &m, 0);
    for (int i = 0; i < d->n_runners; i++) {
        m.sched = d->sched[i];
        thread_timeline_close(&d->timelines[i], d->p, &m, 0);
    }
    profile_end(d->p, now_ns);
}

static void say_memory(const char *key)
{
    long pages[2] = {0};
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm && fscanf(statm, "%ld %ld", &pages[0], &pages[1]) == 2)
        printf("%s %ld\n", key, pages[1] * sysconf(_SC_PAGESIZE));
    if (statm)
        (void)fclose(statm);
}

/* ---- the file ---- */

static void take_entry(struct day *d, const struct entry *entry)
{
    struct entry copy = *entry;
    struct entry_value end;
    if (copy.kind < ENTRY_STORE_LAST)
        store_take(d->store, &copy);
    else if (copy.kind == ENTRY_COMMIT && entry_next(&copy, &end))
        store_commit(d->store, end.number);
}

/* As the file's own process does with what comes. */
static void take_waiting(struct day *d)
{
    int64_t begun_ns = clock_cpu_ns();
    struct entry entry;
    ssize_t n;
    for (size_t at = 0; at < d->waiting_entries.len; at += (size_t)n) {
        n = entry_parse(&entry, d->waiting_entries.s + at, d->waiting_entries.len - at);
        if (n <= 0)
            abort();
        take_entry(d, &entry);
    }
    text_clear(&d->waiting_entries);
    d->store_cpu_ns += clock_cpu_ns() - begun_ns;
}

static void add_entry(void *ctx, const char *bytes, size_t len)
{
    struct day *d = ctx;
    text_add_bytes(&d->waiting_entries, bytes, len);
    if (d->waiting_entries.len >= WAITING_BYTES)
        take_waiting(d);
}

static void start_file(struct day *d, const char *path)
{
    if (!str_ends(path, ".wallspy"))
        return;
    FILE *empty = fopen(path, "we");
    if (empty)
        (void)fclose(empty);
    d->store = store_open(path, STORE_WAL);
    d->growing = growing_new(d->p, (struct sink_to){add_entry, d});
}

static void grow(struct day *d, int64_t now_ns)
{
    if (!d->growing || now_ns % (GROWS_EVERY_S * (int64_t)NS_PER_S))
        return;
    (void)growing_send(d->growing, now_ns, NULL, NULL);
    take_waiting(d);
}

static int end_file(struct day *d)
{
    struct err err = {0};
    int64_t end_ns = profile_end_ns(d->p);
    (void)growing_send(d->growing, end_ns, NULL, NULL);
    growing_end(d->growing, end_ns);
    take_waiting(d);
    printf("store_cpu_share %.4f\n", (double)d->store_cpu_ns / (double)end_ns);
    int r = store_end(d->store, end_ns, &err);
    bool settled = store_settle(d->store);
    text_release(&d->waiting_entries);
    growing_free(d->growing);
    store_free(d->store);
    return r || !settled;
}

static int write_file(struct profile *p, uint64_t max_bytes, const char *path)
{
    struct view_options options = {0};
    struct export_notes notes;
    FILE *out = fopen(path, "we");
    if (!out)
        return -1;
    int r = exporter_write(exporter_by_path(path), p, &options, NULL, max_bytes, out, &notes);
    return fclose(out) ? -1 : r;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    struct day *d = xcalloc(1, sizeof *d);
    d->n_runners = argc > 3 ? atoi(argv[3]) : 2;
    d->n_stacks = argc > 4 ? atoi(argv[4]) : MOST_STACKS;
    d->hours = argc > 5 ? atoi(argv[5]) : MOST_HOURS;
    if (d->n_runners < 1 || d->n_runners > MOST_RUNNERS || d->n_stacks < 1 ||
        d->n_stacks > MOST_STACKS || d->hours < 1 || d->hours > MOST_HOURS)
        return 2;
    size_t max_bytes = strtoul(argv[1], NULL, 10);
    d->p = profile_new(max_bytes);
    start(d);
    start_file(d, argv[2]);
    int64_t ticks = (int64_t)d->hours * 3600 * RATE_HZ;
    for (int64_t tick = 0; tick < ticks; tick++) {
        for (int i = 0; i < d->n_runners; i++)
            next_sample(d, &d->timelines[i], &d->sched[i], tick * interval_ns);
        see_to_job(d, tick, tick * interval_ns);
        grow(d, tick * interval_ns);
        if (tick % (ticks / 12) == 0)
            say_memory("memory");
    }
    end(d, ticks * interval_ns);
    say_memory("memory");
    printf("samples %" PRIu64 "\njobs %" PRIu64 "\n", d->samples + 1, d->jobs);
    for (int i = 0; i < d->n_runners; i++)
        printf("run_ns %" PRIu64 "\nwait_cpu_ns %" PRIu64 "\n", d->sched[i].run_ns,
               d->sched[i].wait_ns);
    (void)fflush(stdout);
    int r = d->growing ? end_file(d) : write_file(d->p, max_bytes, argv[2]);
    say_memory("memory_after_writing");
    profile_free(d->p);
    free(d);
    return r ? 1 : 0;
}
