/* Which file each thread works on, for whoever tells that a file server does not answer
 * (cli/watchdog.c): a thread that waits for it cannot. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { FILE_USE_THREADS = 4, FILE_USE_PATH_BYTES = 512 };

struct file_use {
    pid_t tid;      /* 0: nothing was told */
    bool opening;   /* it is being opened; else it may be read, as mapped memory mostly */
    uint64_t count; /* of what the thread told */
    char path[FILE_USE_PATH_BYTES]; /* cut if longer */
};

/* The calling thread opens PATH, until file_use_opened(); or it works on it from now on. */
void file_use_opening(const char *path);
void file_use_opened(void);
void file_use_note(const char *path);
/* Any thread: what the I-th of FILE_USE_THREADS told last. */
struct file_use file_use_get(int i);
