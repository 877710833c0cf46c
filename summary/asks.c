#include "summary/asks.h"

#include <string.h>

#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/wait_name.h"

/* What a call asks for.  WORDS follow "polls 97% of its time"; REMEDY: what is woken instead.
 * Source: subprocess.py, pidfd_open(2), flock(2), inotify(7). */
static const struct {
    const char *words, *remedy;
} kinds[] = {
    [ASKED_NOTHING] = {"", ""},
    [ASKED_CHILD] = {" for the end of a child,",
                     "A wait without a time-out, or poll() of a pidfd_open(), wakes at once."},
    [ASKED_FILE] =
        {" for a file,",
         "inotify reports a change at once. For a lock file use flock(): it ends with its holder."},
    [ASKED_LOCK] =
        {" for a lock,",
         "A blocking lock() or flock() wakes at once; an flock() also ends with its holder."},
    [ASKED_RESULT] = {" for another thread or process,",
                      "A blocking get(), join(), result() or Event.wait() wakes at once."},
    [ASKED_UNTOLD] = {"", "A call that blocks wakes at once: flock() for a lock file, poll() of a "
                          "pidfd_open() for a process, a condition for a thread."},
};

/* Functions of Python's libraries that sleep in a loop until something is so.
 * Source: CPython Lib/subprocess.py (_wait with a time-out), psutil/_psposix.py, filelock/_api.py,
 * portalocker/utils.py, torch/utils/file_baton.py, joblib/parallel.py. */
static const struct {
    const char *file, *function;
    enum asked asked;
} pollers[] = {
    {"/subprocess.py", "_wait", ASKED_CHILD},        {"/psutil/_psposix.py", "*", ASKED_CHILD},
    {"/filelock/_api.py", "acquire", ASKED_LOCK},    {"/portalocker/utils.py", "*", ASKED_LOCK},
    {"/torch/utils/file_baton.py", "*", ASKED_FILE}, {"/joblib/parallel.py", "*", ASKED_RESULT},
};

/* Functions that ask, where a thread runs in them: who is blocked there waits for an answer.
 * Source: their manual pages; CPython Lib/genericpath.py, pathlib.py, threading.py, queue.py,
 * subprocess.py, multiprocessing/process.py, concurrent/futures/_base.py. */
static const struct {
    const char *file; /* of Python's library; NULL: a function of the C library */
    const char *function;
    enum asked asked;
} questions[] = {
    {NULL, "waitpid", ASKED_CHILD},
    {NULL, "wait4", ASKED_CHILD},
    {NULL, "waitid", ASKED_CHILD},
    {NULL, "access", ASKED_FILE},
    {NULL, "faccessat", ASKED_FILE},
    {NULL, "stat", ASKED_FILE},
    {NULL, "stat64", ASKED_FILE},
    {NULL, "lstat", ASKED_FILE},
    {NULL, "lstat64", ASKED_FILE},
    {NULL, "fstatat", ASKED_FILE},
    {NULL, "fstatat64", ASKED_FILE},
    {NULL, "newfstatat", ASKED_FILE},
    {NULL, "flock", ASKED_LOCK},
    {NULL, "lockf", ASKED_LOCK},
    {NULL, "pthread_mutex_trylock", ASKED_LOCK},
    {NULL, "pthread_spin_trylock", ASKED_LOCK},
    {NULL, "sem_trywait", ASKED_LOCK},
    {"/genericpath.py", "*", ASKED_FILE},
    {"/pathlib.py", "*", ASKED_FILE},
    {"/pathlib/__init__.py", "*", ASKED_FILE},
    {"/pathlib/_local.py", "*", ASKED_FILE},
    {"/subprocess.py", "poll", ASKED_CHILD},
    {"/multiprocessing/process.py", "is_alive", ASKED_CHILD},
    {"/multiprocessing/pool.py", "ready", ASKED_RESULT},
    {"/concurrent/futures/_base.py", "done", ASKED_RESULT},
    {"/threading.py", "is_alive", ASKED_RESULT},
    {"/threading.py", "is_set", ASKED_RESULT},
    {"/queue.py", "empty", ASKED_RESULT},
    {"/queue.py", "full", ASKED_RESULT},
    {"/queue.py", "qsize", ASKED_RESULT},
    {"/multiprocessing/queues.py", "empty", ASKED_RESULT},
    {"/multiprocessing/connection.py", "poll", ASKED_RESULT},
};

static bool is_function(const struct shown_frame *f, const char *file, const char *function)
{
    if (!file)
        return f->kind == SHOWN_NATIVE && f->libc && str_eq(frame_libc_name(f->name), function);
    return frame_is(f, file, *function == '*' ? NULL : function);
}

enum asked asks_by_sleeping(const struct shown_frame *f)
{
    for (size_t i = 0; i < sizeof pollers / sizeof *pollers; i++)
        if (is_function(f, pollers[i].file, pollers[i].function))
            return pollers[i].asked;
    return ASKED_NOTHING;
}

static enum asked asked_by_frame(const struct shown_frame *f)
{
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (is_function(f, questions[i].file, questions[i].function))
            return questions[i].asked;
    return ASKED_NOTHING;
}

bool asks_for_time(const char *name)
{
    static const char *const times[] = {"next",   "frame",    "_tick_", "_ticks_",
                                        "period", "time",     "_rate_", "deadline",
                                        "vsync",  "interval", NULL};
    return wait_name_has(name, times);
}

enum asked asks_by_name(const char *name)
{
    static const char *const locks[] = {"acquirelock", "takelock", "getlock",   "trylock",
                                        "waitforlock", "_lock$",   "filelock$", NULL};
    static const char *const waits[] = {"waitfor", "waituntil", "waiton", "waitall", NULL};
    static const char *const acquires[] = {"acquire$", "take$", "enter$", NULL};
    if (wait_name_has(name, locks) ||
        (wait_name_has(name, acquires) && (strstr(name, "Lock") || strstr(name, "lock"))))
        return ASKED_LOCK;
    return wait_name_has(name, waits) && !asks_for_time(name) ? ASKED_UNTOLD : ASKED_NOTHING;
}

enum asked asks_of(const struct shown_frame *stack, size_t n)
{
    enum asked asked = ASKED_NOTHING;
    for (enum frame_role role; n && (role = frame_role(&stack[n - 1], false)) != ROLE_OWN; n--) {
        /* A native library asks for itself, as SQLite for its journal. */
        if (asked && role == ROLE_LIBRARY && stack[n - 1].kind == SHOWN_NATIVE)
            return ASKED_NOTHING;
        asked = asked ? asked : asked_by_frame(&stack[n - 1]);
    }
    return asked;
}

const char *asks_words(enum asked asked)
{
    return kinds[asked].words;
}

const char *asks_remedy(enum asked asked)
{
    return kinds[asked].remedy;
}
