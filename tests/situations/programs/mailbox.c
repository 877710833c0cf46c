/* A thread delivers letters, main writes them.  The culprit: deliver looks for a letter, and waits
 * for the next signal later, without the mutex in between; the one letter's signal comes in that
 * time, and is lost.  The twin keeps the mutex from the look to the wait. */
#include "steady.h"

#include <pthread.h>
#include <unistd.h>

enum { LETTER_US = 20000 };

static pthread_mutex_t box = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
static int letters;
static struct steady run;

static int letters_now(void)
{
    pthread_mutex_lock(&box);
    int now = letters;
    pthread_mutex_unlock(&box);
    return now;
}

static void take_letter_too_late(void)
{
    if (letters_now())
        return;
    usleep(5 * LETTER_US);
    pthread_mutex_lock(&box);
    pthread_cond_wait(&posted, &box);
    letters--;
    pthread_mutex_unlock(&box);
}

static void take_letter(void)
{
    pthread_mutex_lock(&box);
    while (!letters)
        pthread_cond_wait(&posted, &box);
    letters--;
    pthread_mutex_unlock(&box);
}

static void *deliver(void *unused)
{
    do {
        if (run.twin)
            take_letter();
        else
            take_letter_too_late();
    } while (steady_goes_on(&run));
    return unused;
}

static void post_letter(void)
{
    usleep(LETTER_US);
    pthread_mutex_lock(&box);
    letters++;
    pthread_cond_signal(&posted);
    pthread_mutex_unlock(&box);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    run = steady_begin(argc, argv);
    if (pthread_create(&thread, NULL, deliver, NULL) != 0)
        return 1;
    pthread_setname_np(thread, "deliver");
    do {
        post_letter();
    } while (run.twin && steady_goes_on(&run));
    if (run.twin) /* the last one, if it waits */
        post_letter();
    pthread_join(thread, NULL);
    steady_tell("letters", letters);
    return 0;
}
