#include "worker/follower.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "target/attach_check.h"
#include "target/command_line.h"
#include "target/proc.h"

struct follower {
    struct profile *profile;
    struct descendants *descendants;
    int (*add)(void *ctx, pid_t pid, uint64_t start_ticks, struct err *err);
    void *ctx;
};

struct follower *
follower_new(struct profile *p,
             int (*add)(void *ctx, pid_t pid, uint64_t start_ticks, struct err *err), void *ctx)
{
    struct follower *f = xcalloc(1, sizeof *f);
    *f = (struct follower){p, descendants_new(), add, ctx};
    return f;
}

void follower_add(struct follower *f, pid_t pid)
{
    (void)descendants_add(f->descendants, pid);
}

/* The user reads of each cause once. */
static void warn_refused(const struct attach_check *c)
{
    struct text command = {0};
    struct text message = {0};
    command_line_of(c->pid, &command);
    attach_check_explain(c, command.s, &message);
    log_warn(attach_obstacle_name(c->obstacle), "%s", message.s);
    text_release(&command);
    text_release(&message);
}

/* It may end in the middle of the check, which then finds other causes. */
static bool has_ended(const struct attach_check *c)
{
    struct task_status status;
    return c->obstacle == ATTACH_NO_PROCESS || c->obstacle == ATTACH_ZOMBIE ||
           (c->obstacle != ATTACH_OK &&
            (proc_status(c->pid, 0, &status) < 0 || status.state == 'Z' || status.state == 'X'));
}

/* Adds FOUND; returns the metric that counts the result. */
static enum metric try_to_add(struct follower *f, const struct descendant *found)
{
    struct attach_check c;
    struct err err = {0};
    attach_check(&c, found->pid);
    if (has_ended(&c))
        return METRIC_DESCENDANTS_TOO_SHORT;
    if (c.obstacle != ATTACH_OK) {
        warn_refused(&c);
        return METRIC_DESCENDANTS_REFUSED;
    }
    int r = f->add(f->ctx, found->pid, found->start_ticks, &err);
    if (r == -ESRCH)
        return METRIC_DESCENDANTS_TOO_SHORT;
    if (r < 0)
        log_warn(r == -E2BIG ? "children: many" : "children", "%s", err.text);
    return r < 0 ? METRIC_DESCENDANTS_REFUSED : METRIC_DESCENDANTS;
}

static void on_found(void *ctx, const struct descendant *found)
{
    struct follower *f = ctx;
    profile_add_number(f->profile, try_to_add(f, found), 1);
}

bool follower_look(struct follower *f, bool whole)
{
    return f && descendants_look(f->descendants, whole, on_found, f) > 0;
}

struct follower *follower_free(struct follower *f)
{
    if (!f)
        return NULL;
    descendants_free(f->descendants);
    free(f);
    return NULL;
}
