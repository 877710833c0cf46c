#include "summary/asks.h"

#include <string.h>

#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/known.h"
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

enum asked asks_by_sleeping(const struct shown_frame *f)
{
    const struct known_row *row = known_row_of(f, KNOWN_SLEEPS);
    return row ? (enum asked)row->sleeps : ASKED_NOTHING;
}

/* Who is blocked in a function that asks waits for its answer. */
static enum asked asked_by_frame(const struct shown_frame *f)
{
    const struct known_row *row = known_row_of(f, KNOWN_ASKS);
    return row ? (enum asked)row->asks : ASKED_NOTHING;
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
        if (asked && role == ROLE_LIBRARY && stack[n - 1].kind == SHOWN_NATIVE &&
            !stack[n - 1].glue)
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
