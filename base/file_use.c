#include "base/file_use.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file_use uses[FILE_USE_THREADS];
static _Thread_local struct file_use *mine;

/* Nobody may wait for the lock: a child process may have inherited it locked. */
static struct file_use *take_mine(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return NULL;
    for (int i = 0; i < FILE_USE_THREADS && !mine; i++)
        if (!uses[i].tid)
            mine = &uses[i];
    if (!mine) /* threads that name come one after the other: each takes the place of the last */
        mine = &uses[FILE_USE_THREADS - 1];
    mine->tid = gettid();
    mine->count++;
    return mine;
}

static void note_file(const char *path, bool opening)
{
    struct file_use *use = take_mine();
    if (!use)
        return;
    use->opening = opening;
    (void)snprintf(use->path, sizeof use->path, "%s", path);
    (void)pthread_mutex_unlock(&lock);
}

void file_use_opening(const char *path)
{
    note_file(path, true);
}

void file_use_note(const char *path)
{
    note_file(path, false);
}

void file_use_end(void)
{
    note_file("", false);
}

void file_use_opened(void)
{
    struct file_use *use = take_mine();
    if (!use)
        return;
    use->opening = false;
    (void)pthread_mutex_unlock(&lock);
}

struct file_use file_use_get(int i)
{
    (void)pthread_mutex_lock(&lock);
    struct file_use ret = uses[i];
    (void)pthread_mutex_unlock(&lock);
    return ret;
}
