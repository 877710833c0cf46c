/* A server reads its settings.  The culprit: the thread that reloads them keeps the rwlock for
 * writing while it waits for the file; the twin waits first and takes the lock then. */
#include "steady.h"

#include <pthread.h>
#include <unistd.h>

static pthread_rwlock_t settings = PTHREAD_RWLOCK_INITIALIZER;
static unsigned values[64];
static struct steady run;

static void fetch_file(void)
{
    usleep(150000);
}

static void *reload(void *unused)
{
    while (steady_goes_on(&run)) {
        if (run.twin)
            fetch_file();
        pthread_rwlock_wrlock(&settings);
        if (!run.twin)
            fetch_file();
        for (unsigned i = 0; i < 64; i++)
            values[i]++;
        pthread_rwlock_unlock(&settings);
        usleep(20000);
    }
    return unused;
}

static unsigned read_setting(unsigned key)
{
    pthread_rwlock_rdlock(&settings);
    unsigned value = values[key % 64];
    pthread_rwlock_unlock(&settings);
    return value;
}

static unsigned respond(unsigned key)
{
    unsigned text = key;
    for (int i = 0; i < 100000; i++)
        text = text * 1664525U + 1013904223U;
    return text;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    double waited_s = 0;
    unsigned sum = 0;
    run = steady_begin(argc, argv);
    if (pthread_create(&thread, NULL, reload, NULL) != 0)
        return 1;
    pthread_setname_np(thread, "reload");
    while (steady_goes_on(&run)) {
        double start_s = now();
        sum += read_setting(sum);
        waited_s += now() - start_s;
        sum += respond(sum);
    }
    pthread_join(thread, NULL);
    steady_tell("share", steady_per_second(&run, waited_s));
    return sum == 1;
}
