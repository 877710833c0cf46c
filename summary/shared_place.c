#include "summary/shared_place.h"

static const char *thing_at(const struct call_tree *tree, uint32_t node)
{
    static const char *const things[] = {
        [FUTEX_LOCK] = "a lock",
        [FUTEX_RWLOCK] = "an rwlock",
        [FUTEX_CONDITION] = "a condition",
        [FUTEX_SEMAPHORE] = "a semaphore",
        [FUTEX_JOIN] = NULL,
        [FUTEX_BARRIER] = "a barrier",
    };
    return things[call_tree_node(tree, node).futex];
}

static const struct blocker *place_of(const struct judgement *s, const struct run *run)
{
    const struct wait_side *side = run->at.wait.ix ? holders_side(s->holders, run->at) : NULL;
    bool shared = side && side->blocker.kind == BLOCKER_SHARED && !side->blocker.pid;
    return shared ? &side->blocker : NULL;
}

/* Has what is mapped from PATH a name that a user gave it?  Source: mmap(2), MAP_ANONYMOUS, whose
 * shared memory the kernel calls so; shmget(2), memfd_create(2). */
static bool is_named(const char *path)
{
    static const char *const nameless[] = {"/dev/zero", "/SYSV", "/memfd:", NULL};
    return *path && !str_starts_any(path, nameless);
}

void shared_place_add(struct text *out, const struct profile *p, const struct blocker *b)
{
    const char *path = profile_text(p, b->name);
    if (is_named(path))
        text_addf(out, " in %s, which processes share", path);
    else
        text_add(out, " that processes share");
}

void add_shared_place(const struct judgement *s, const struct run *run, uint32_t node,
                      struct text *words)
{
    const struct blocker *b = place_of(s, run);
    const char *thing = thing_at(s->g->tree, node);
    if (!b || !thing)
        return;
    text_addf(words, ", for %s", thing);
    shared_place_add(words, s->p, b);
}

void add_killed_holder(const struct judgement *s, const struct run *run, uint32_t node,
                       struct text *words)
{
    static const unsigned held = 1U << FUTEX_LOCK | 1U << FUTEX_RWLOCK | 1U << FUTEX_SEMAPHORE;
    if (place_of(s, run) && held >> call_tree_node(s->g->tree, node).futex & 1)
        text_add(words,
                 " If a process had it and was killed, nobody gives it up: of what processes "
                 "share only robust mutexes and files' locks are given up then.");
}
