#include "waits/waits.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/name_limiter.h"
#include "waits/lock_names.h"
#include "waits/time_out.h"
#include "waits/wait_owner.h"
#include "waits/wait_peer.h"
#include "waits/wait_reason.h"

struct waits {
    struct profile *profile;
    struct wait_host host;
    bool only_once;
    struct name_limiter files;
    struct wait_owners owners;
    struct wait_peers *peers;
};

struct waits *waits_new(struct profile *p, const struct wait_host *host, bool only_once)
{
    struct waits *w = xcalloc(1, sizeof *w);
    w->profile = p;
    w->host = host ? *host : (struct wait_host){0};
    w->only_once = only_once;
    w->owners =
        (struct wait_owners){.host = &w->host, .profile = w->profile, .only_once = only_once};
    w->peers = wait_peers_new(w->profile, &w->host);
    return w;
}

void waits_hear(struct waits *w, const struct message *m)
{
    wait_owners_end_wait(&w->owners, m, w->host.change, w->host.ctx);
    if (m->kind == MESSAGE_THREAD_END)
        thread_ids_remove(&w->owners.ids, m);
    else
        thread_ids_add(&w->owners.ids, m);
}

void waits_see_lock(struct waits *w, const struct lock_message *m)
{
    wait_owners_see_lock(&w->owners, m, w->host.change, w->host.ctx);
}

void waits_see_states(struct waits *w, uint32_t process, thread_id thread,
                      const uint64_t states[SNAPSHOT_HOOK_WORDS])
{
    gil_watch_see(&w->owners.gil, process, thread, states);
}

/* ---- a sample's wait ---- */

static mount_id mount_of(struct profile *p, const struct wait_target *s, const char *path)
{
    const struct mount *m = mounts_of(s->mounts, s->pid, path);
    if (!m)
        return (mount_id){0};
    return profile_mount(p, &(struct profile_mount){
                                .point = profile_string(p, m->point),
                                .type = profile_string(p, m->type),
                                .source = profile_string(p, m->source),
                                .served = mount_is_served(m),
                            });
}

static wait_id intern(struct profile *p, const struct wait_target *s, struct wait wait)
{
    const char *object = profile_text(p, wait.object);
    if (!wait.kind)
        return (wait_id){0};
    if (wait.kind == WAIT_CALL && *object == '/' && !wait_is_device(object))
        wait.mount = mount_of(p, s, object);
    return profile_wait(p, &wait);
}

/* What is known of the other side with the sample. */
static void add_side(struct waits *w, const struct wait_sample *s, struct wait *wait)
{
    if (wait->kind == WAIT_GIL)
        wait->side = wait_owner_of_gil(&w->owners, s->m->head.process, s->gil.holder);
    if (wait->kind != WAIT_CALL)
        return;
    wait->side = wait_owner_of_futex(&w->owners, s->m, s->recorded);
    if (!wait->side.thing && s->target.python && s->python->n > 0)
        wait->side = wait_owner_of_py_lock(&w->owners, &s->target, s->m, &wait->side, s->python);
    wait_peers_complete(w->peers, s->m, wait);
}

wait_id waits_describe(struct waits *w, const struct wait_sample *s)
{
    struct wait wait = wait_reason(w->profile, s, &w->files);
    bool sided = w->host.target && s->recorded;
    if (sided)
        add_side(w, s, &wait);
    wait_id id = intern(w->profile, &s->target, wait);
    if (sided)
        wait_peers_see(w->peers, s->m, id);
    return id;
}

wait_id waits_describe_before(struct waits *w, const struct wait_sample *s)
{
    return intern(w->profile, &s->target, wait_reason_blocked(w->profile, s, &w->files));
}

int64_t waits_time_out_ns(const struct wait_sample *s)
{
    const struct snapshot *at = &s->m->snapshot;
    return at->state == THREAD_BLOCKED && s->recorded
               ? time_out_end_ns(at->syscall, at->syscall_args, s->recorded, s->m->head.time_ns)
               : 0;
}

/* ---- later ---- */

void waits_look(struct waits *w)
{
    wait_owners_look_again(&w->owners, w->host.change, w->host.ctx);
    if (!w->only_once)
        wait_peers_look(w->peers);
}

void waits_look_last(struct waits *w)
{
    if (w->only_once)
        return;
    wait_owners_doubt_all(&w->owners);
    wait_owners_look_again(&w->owners, w->host.change, w->host.ctx);
    wait_peers_look_last(w->peers);
}

uint64_t waits_urgency(const struct waits *w)
{
    return wait_peers_late(w->peers);
}

int64_t waits_due_ns(const struct waits *w)
{
    return min_i64(wait_owners_due_ns(&w->owners), wait_peers_due_ns(w->peers));
}

void waits_find_all(struct waits *w, const struct asked_call *asked, size_t n)
{
    wait_peers_find_all(w->peers, asked, n);
}

void waits_report(const struct waits *w)
{
    struct wait_target s;
    wait_peers_report(w->peers);
    for (uint32_t i = 0; !w->only_once && (s = w->host.target(w->host.ctx, i)).pid; i++)
        lock_names_report(w->profile, &s);
}

struct waits *waits_free(struct waits *w)
{
    if (!w)
        return NULL;
    name_limiter_release(&w->files);
    wait_owners_release(&w->owners);
    wait_peers_free(w->peers);
    free(w);
    return NULL;
}
