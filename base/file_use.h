/* A table of the file that each thread works on.  A thread that waits for a file server cannot say
 * so; the watchdog (cli/watchdog.c) says it from this table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { FILE_USE_THREADS = 4, FILE_USE_PATH_BYTES = 512 };

struct file_use {
    pid_t tid;      /* 0: no thread has this place */
    bool opening;   /* it is being opened; otherwise it may be read, mostly as mapped memory */
    uint64_t count; /* the thread's notes so far */
    char path[FILE_USE_PATH_BYTES]; /* cut if longer; "": none */
};

/* file_use_opening(): the calling thread opens PATH, until file_use_opened().  file_use_note(): it
 * works on PATH from now on.  file_use_end(): it works on none. */
void file_use_opening(const char *path);
void file_use_opened(void);
void file_use_note(const char *path);
void file_use_end(void);
/* For any thread: the last note of thread I of FILE_USE_THREADS. */
struct file_use file_use_get(int i);
