#include "summary/state_words.h"

#include <string.h>

#include "summary/verdict_words.h"
#include "summary/wait_side.h"
#include "summary/wait_text.h"

/* ---- in a call ---- */

/* The end of a path says more than its beginning. */
static void add_end(struct text *out, const char *name, size_t most_columns)
{
    struct text tame = {0};
    text_add_tame(&tame, name, strlen(name));
    size_t columns = text_columns(&tame, 0);
    size_t drop = 0;
    if (columns > most_columns) {
        drop = utf8_cut(tame.s, tame.len, columns - most_columns + 1);
        text_add(out, "…");
    }
    text_add(out, text_str(&tame) + drop);
    text_release(&tame);
}

/* " (nfs4 nfs01:/export)" of a file for which another machine answers. */
static void add_mount(struct text *out, const struct state_call *c)
{
    if (!c->mount || !c->mount->served)
        return;
    text_add(out, " (");
    add_end(out, profile_text(c->profile, c->mount->type), c->most_columns);
    text_add(out, " ");
    add_end(out, profile_text(c->profile, c->mount->source), c->most_columns);
    text_add(out, ")");
}

void state_add_call(struct text *out, const struct state_call *c)
{
    bool polls_nothing = c->object && str_eq(c->object, "sleep");
    text_addf(out, polls_nothing || str_ends(c->name, "nanosleep") ? "sleeps (%s)" : "in %s",
              c->name);
    if (!c->object || polls_nothing || str_eq(c->object, "eventpoll"))
        return;
    text_add(out, " of ");
    add_end(out, c->object, c->most_columns);
    add_mount(out, c);
}

void state_add_off_cpu(struct text *out, bool page)
{
    text_add(out, page ? "in a page fault" : "is off the CPU in no system call, cause unknown");
}

void state_add_on_cpu(struct text *out, bool waits, enum spin_kind spins)
{
    if (waits)
        text_add(out, "waits for a CPU");
    else if (spins != SPIN_NONE)
        text_addf(out, "spins %s", spinning_words(spins));
    else
        text_add(out, "runs");
}

/* ---- for others ---- */

void state_add_wait(struct text *out, const struct profile *p, const struct wait_side *side,
                    pid_t pid, enum futex_kind kind, bool notified)
{
    struct wait_side own = *side;
    own.blocker.pid = pid; /* whoever has it: the variable is of this process */
    if (!side->thing) {
        text_addf(out, "waits%s", notified ? " to be notified" : futex_kind_words(kind));
        return;
    }
    text_add(out, "waits for ");
    if (wait_side_is_kernels(side->thing))
        wait_side_add_text(out, p, side, pid, true);
    else
        wait_side_add_thing(out, p, &own);
}

void state_add_holder(struct text *out, const struct profile *p, const struct blocker *b, bool own,
                      const char *holder)
{
    if (b->kind == BLOCKER_SHARED && b->pid) {
        text_addf(out, ", held by process %d (%s)", b->pid, profile_text(p, b->name));
    } else if (b->kind == BLOCKER_GONE) {
        text_add(out, ",");
        verdict_add_owner_gone(out, b->tid);
    } else if (b->kind == BLOCKER_THREAD) {
        text_addf(out, ", held by %s", own ? "itself" : holder);
    }
}
