#include "fleet/wait_words.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* waits_for.kind of dump/1. */
static const struct {
    const char *kind, *words, *brief;
    enum fleet_doing doing;
    bool named; /* its variable says more */
} kinds[] = {
    {"mutex", "waits for a mutex", "waits for a mutex", DOES_WAIT, true},
    {"rwlock", "waits for an rwlock", "waits for an rwlock", DOES_WAIT, true},
    {"lock", "waits for a Lock", "waits for a Lock", DOES_WAIT, false},
    {"guard", "waits for an initialisation's guard", "waits for a guard", DOES_WAIT, false},
    {"file-lock", "waits for a file's lock", "waits for a file lock", DOES_WAIT, false},
    {"child", "waits for a child process", "waits for a child", DOES_WAIT, false},
    {"gil", "waits for the GIL", "waits for the GIL", DOES_WAIT, false},
    {"join", "waits for a thread to end", "waits for a thread", DOES_AWAIT, false},
    {"condition", "waits for a condition", "waits for a condition", DOES_AWAIT, false},
    {"semaphore", "waits for a semaphore", "waits for a semaphore", DOES_AWAIT, false},
    {"barrier", "waits at a barrier", "waits at a barrier", DOES_AWAIT, false},
};

static bool waits_for_others(const char *call)
{
    static const char *const calls[] = {
        "futex",      "poll",     "ppoll",       "select",       "pselect6",        "accept",
        "accept4",    "connect",  "recvfrom",    "recvmsg",      "sendto",          "sendmsg",
        "epoll_wait", "recvmmsg", "epoll_pwait", "epoll_pwait2", "rt_sigtimedwait", NULL};
    return str_is_one_of(call, calls);
}

static uint32_t in_call(struct fleet *f, const struct wait_in *w)
{
    char words[2 * WAIT_IN_BYTES];
    char sort[64];
    if (strstr(w->call, "nanosleep"))
        return fleet_wait(f, "sleeps", "sleeps", DOES_WAIT);
    (void)snprintf(sort, sizeof sort, "in %s", w->call);
    bool file = *w->path == '/';
    int n = snprintf(words, sizeof words, "%s", sort);
    if (*w->path && n > 0)
        (void)snprintf(words + n, sizeof words - (size_t)n, " of %s%s", file ? "" : "a ", w->path);
    bool others = waits_for_others(w->call) || (*w->path && !file);
    return fleet_wait(f, words, sort, others ? DOES_AWAIT : DOES_WAIT);
}

static uint32_t blocked(struct fleet *f, const struct wait_in *w)
{
    char words[2 * WAIT_IN_BYTES];
    const char *kind = str_eq(w->gil, "waiting") ? "gil" : w->kind;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!str_eq(kind, kinds[i].kind))
            continue;
        const char *name = kinds[i].named ? w->name : "";
        (void)snprintf(words, sizeof words, "%s%s%s", kinds[i].words, *name ? " " : "", name);
        return fleet_wait(f, words, kinds[i].brief, kinds[i].doing);
    }
    if (*w->call)
        return in_call(f, w);
    (void)snprintf(words, sizeof words, "waits in the kernel%s%s", *w->wchan ? ", " : "", w->wchan);
    return fleet_wait(f, words, "waits in the kernel", DOES_WAIT);
}

uint32_t wait_words_add(struct fleet *f, const struct wait_in *w)
{
    if (str_eq(w->state, "stopped"))
        return fleet_wait(f, "is stopped", "is stopped", DOES_NOTHING);
    bool runs = str_eq(w->state, "running") || str_eq(w->state, "runnable");
    if (runs && w->spun) /* whether it is seen at it does not tell it from one that runs */
        return fleet_wait(f, "spins", "runs", DOES_AWAIT);
    if (str_eq(w->state, "running"))
        return fleet_wait(f, "runs", "runs", DOES_RUN);
    if (str_eq(w->state, "runnable"))
        return fleet_wait(f, "waits for a CPU", "runs", DOES_RUN);
    if (str_eq(w->state, "blocked"))
        return blocked(f, w);
    return fleet_wait(f, "", "", DOES_UNKNOWN);
}
