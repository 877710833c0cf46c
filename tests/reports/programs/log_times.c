/* Each line of a log takes the lock of the time zone. */
#include <pthread.h>

#include "account.h"

enum { THREADS = 8 };
static double converting[THREADS];

static int log_request(char *line, size_t size, double *seconds)
{
    struct tm tm;
    time_t now = time(NULL);
    double begin = now_s();
    localtime_r(&now, &tm);
    *seconds += now_s() - begin;
    return snprintf(line, size, "%02d:%02d:%02d GET /", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void *serve(void *seconds)
{
    char line[64];
    pthread_setname_np(pthread_self(), "request");
    while (goes_on())
        log_request(line, sizeof line, seconds);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    double sum = 0;
    if (argc < 2)
        return 2;
    setenv("TZ", ":/usr/share/zoneinfo/Europe/Berlin", 1);
    ready(argv);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, serve, &converting[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += converting[i];
    }
    tell("localtime_r", sum / THREADS);
}
