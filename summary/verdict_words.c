#include "summary/verdict_words.h"

#include <string.h>

#include "summary/path_words.h"
#include "summary/rule_words.h"

void verdict_add_stopped(struct text *out, bool plural, pid_t pid, const char *terminal)
{
    text_add(out, plural ? "are stopped " : "is stopped ");
    if (terminal) {
        text_add(out, "because its job reads ");
        text_add_tame(out, terminal, strlen(terminal));
        text_add(out, " in the background (SIGTTIN)");
    } else {
        text_add(out, "by a signal (SIGSTOP, or Ctrl-Z's SIGTSTP)");
    }
    if (pid && terminal)
        text_add(out, ": `fg` in its shell lets it read; </dev/null at its start avoids this");
    else if (pid)
        text_addf(out, ": kill -CONT %d resumes it", pid);
}

void verdict_add_frozen(struct text *out, bool plural, bool way_out)
{
    text_add(out, plural ? "are frozen " : "is frozen ");
    text_add(out, "with the cgroup (docker pause, systemctl freeze)");
    if (way_out)
        text_add(out, ": docker unpause, systemctl thaw or echo 0 > cgroup.freeze resumes it");
}

void verdict_add_owner_gone(struct text *out, pid_t owner)
{
    text_addf(out,
              " held by %d, which is not a thread of this process: it has ended, or the lock was "
              "inherited by fork",
              owner);
}

void verdict_add_stuck(struct text *out, size_t threads, bool for_lock, int64_t for_ns)
{
    const char *lasts = ", for ";
    if (threads == 1 && for_lock) {
        text_add(out, "The only thread can never get its lock: it holds it already, its owner "
                      "ended, or it was copied by fork while held");
        lasts = ". It has waited for ";
    } else if (threads == 1) {
        text_add(out, "The process has one thread, and that waits to be woken by another");
    } else {
        add_all_threads(threads, out);
        text_add(out, " wait for one another, without a time-out");
    }
    if (for_ns) {
        text_add(out, lasts);
        add_time(out, for_ns);
    }
    text_addf(out, ": only a signal can wake %s.", threads == 1 ? "it" : "them");
}
