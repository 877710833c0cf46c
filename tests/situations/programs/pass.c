/* Two threads pass messages to each other through pipes.  The culprit: one message at a time, so
 * that each costs two switches; the twin has a thousand under way. */
#include "steady.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BATCH = 1000 };

static int to_other[2], to_main[2];
static unsigned hash; /* of all messages */

static void work_on(const char *messages, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 300; k++)
            hash = hash * 16777619U ^ (unsigned char)messages[i];
}

static void *send_back(void *unused)
{
    char messages[BATCH];
    ssize_t n;
    pthread_setname_np(pthread_self(), "second");
    while ((n = read(to_other[0], messages, sizeof messages)) > 0)
        if (write(to_main[1], messages, (size_t)n) < 0)
            break;
    return unused;
}

/* WHO: RUSAGE_SELF for both threads, RUSAGE_THREAD for main. */
static double switches(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)usage.ru_nvcsw;
}

/* On two CPUs both threads go to sleep as often.  On one of them, as where others take the second
 * one, the kernel may let main go on when its message is there, and only the other sleeps. */
struct rates {
    double since_s, both, main, least, most; /* of a thread in windows of half a second */
};

static void note_thread(struct rates *r, double rate)
{
    r->least = r->most > 0 && r->least < rate ? r->least : rate;
    r->most = r->most > rate ? r->most : rate;
}

static void note_rates(struct rates *r)
{
    static unsigned rounds;
    double now_s = ++rounds % 64 ? r->since_s : now();
    double over_s = now_s - r->since_s;
    if (over_s < 0.5)
        return;
    double both = switches(RUSAGE_SELF);
    double main = switches(RUSAGE_THREAD);
    note_thread(r, (main - r->main) / over_s);
    note_thread(r, (both - r->both - (main - r->main)) / over_s);
    r->since_s = now_s;
    r->both = both;
    r->main = main;
}

int main(int argc, char **argv)
{
    pthread_t other;
    char messages[BATCH] = {0};
    if (pipe(to_other) < 0 || pipe(to_main) < 0 || pthread_create(&other, NULL, send_back, NULL))
        return 1;
    struct steady run = steady_begin(argc, argv);
    struct rates rates = {
        .since_s = now(), .both = switches(RUSAGE_SELF), .main = switches(RUSAGE_THREAD)};
    double before = rates.both;
    size_t batch = run.twin ? BATCH : 1;
    steady_round_is((double)batch);
    while (steady_goes_on(&run)) {
        if (write(to_other[1], messages, batch) < 0)
            return 1;
        ssize_t n = read(to_main[0], messages, batch);
        work_on(messages, n > 0 ? (size_t)n : 0);
        note_rates(&rates);
    }
    steady_tell("switches_per_s_a_thread_least", rates.least);
    steady_tell("switches_per_s_a_thread_most", rates.most);
    steady_tell("switches_per_s_a_thread",
                steady_per_second(&run, switches(RUSAGE_SELF) - before) / 2);
    return 0;
}
