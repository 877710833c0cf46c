/* The command of clips.py: codes a frame for each byte that it reads, and writes one.  Its main
 * thread hands halves of the frame to two coders, and waits for both. */
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

enum { CODERS = 2 };
struct frame {
    bool sent;
    unsigned pixel;
};
static struct frame frames[CODERS];
static unsigned to_do;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void transform(struct frame *frame)
{
    for (double end_s = seconds() + 0.03; seconds() < end_s;)
        for (int i = 0; i < 1000; i++)
            frame->pixel = frame->pixel * 1664525U + 1013904223U;
}

static void *code(void *arg)
{
    struct frame *frame = arg;
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (!frame->sent)
            pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
        transform(frame);
        pthread_mutex_lock(&mutex);
        frame->sent = false;
        to_do--;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void send_frames(void)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < CODERS; i++)
        frames[i].sent = true;
    to_do = CODERS;
    pthread_cond_broadcast(&changed);
    while (to_do)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    char byte;
    for (int i = 0; i < CODERS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, code, &frames[i]) == 0)
            pthread_setname_np(thread, "coder");
    }
    while (read(STDIN_FILENO, &byte, 1) == 1) {
        send_frames();
        if (write(STDOUT_FILENO, &byte, 1) != 1)
            break;
    }
    return 0;
}
