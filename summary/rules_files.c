/* The rule about files: which ones a thread waits for, where they lie, how long a call takes. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "summary/frame_name.h"
#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

enum { MOST_PATH_COLUMNS = 60 }; /* a line of a sentence holds no more */

static const double least_ticks = 1.5;
static const double least_blocked = 0.05; /* of the time: a disk is waited for */

struct file_call {
    const char *part; /* of the call's name */
    const char *doing, *once;
};
static struct file_call use_of(const char *call)
{
    static const struct file_call uses[] = {
        {"sync", "syncing", "a sync"},          {"readlink", "looking up", "a look-up"},
        {"read", "reading", "a read"},          {"access", "looking up", "a look-up"},
        {"rename", "renaming", "a call"},       {"unlink", "removing", "a call"},
        {"mkdir", "making", "a call"},          {"rmdir", "removing", "a call"},
        {"write", "writing", "a write"},        {"open", "opening", "an open"},
        {"getdents", "listing", "a call"},      {"stat", "looking up", "a look-up"},
        {"lock", "locking", "a lock"},          {"sendfile", "sending", "a call"},
        {"truncate", "resizing", "a truncate"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (strstr(call, uses[i].part))
            return uses[i];
    return (struct file_call){.doing = "in calls on", .once = "a call"};
}

/* Of a thread: how long it is blocked in read(2) or its like, of files and of pipes, sockets,
 * eventfds. */
struct reading {
    int64_t of_files_ns, of_others_ns;
};

static struct reading reading_of(const struct judgement *s, const struct profile_thread *t)
{
    struct reading r = {0};
    for (size_t k = 0; k < t->n_runs; k++) {
        const struct run *run = &t->runs[k];
        const struct wait *wait = profile_see_wait(s->p, run->at.wait);
        if (run->state != RUN_BLOCKED || !wait || wait->kind != WAIT_CALL ||
            !strstr(profile_text(s->p, wait->call), "read"))
            continue;
        bool of_file = class_of_run(s->g->tree, run) == CLASS_FILE;
        *(of_file ? &r.of_files_ns : &r.of_others_ns) += run->weights.wall_ns;
    }
    return r;
}

/* How long a read(2) of a file was blocked on average; 0: unknown.  The kernel counts reads of all
 * kinds together. */
static int64_t ns_a_read(const struct judgement *s, const struct thread_group *group)
{
    double ns = 0;
    double reads = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        struct reading r = reading_of(s, t);
        if (r.of_others_ns)
            return 0;
        ns += (double)r.of_files_ns * share_of(t->usage.over_ns, group->threads[i]->wall_ns);
        reads += (double)t->usage.reads;
    }
    return reads > 0 ? (int64_t)(ns / reads) : 0;
}

/* How long the call of NODE takes; 0: unknown.  Short waits are no calls: there may be several in
 * one, and other ones between two samples. */
static int64_t ns_a_call(const struct judgement *s, struct thread_group *group, uint32_t node,
                         const char *call)
{
    int64_t ns = strstr(call, "read") ? ns_a_read(s, group) : 0;
    if (ns)
        return ns;
    double interval_ns = NS_PER_S / profile_number(s->p, METRIC_RATE_HZ);
    ns = tally_wait_ns(&group->tally, node);
    return (double)ns >= least_ticks * interval_ns ? ns : 0;
}

/* " (nfs4 nfs01:/export)" */
static void add_mount(const struct judgement *s, const char *point, struct text *words)
{
    for (uint32_t i = 1; point && i <= profile_mount_count(s->p); i++) {
        const struct profile_mount *m = profile_see_mount(s->p, (mount_id){i});
        if (!str_eq(profile_text(s->p, m->point), point))
            continue;
        const char *type = profile_text(s->p, m->type);
        const char *source = profile_text(s->p, m->source);
        text_add(words, " (");
        text_add_tame(words, type, strlen(type));
        text_add(words, " ");
        text_add_path(words, source, MOST_PATH_COLUMNS);
        text_add(words, ")");
        return;
    }
}

static void add_files(const struct judgement *s, struct thread_group *group,
                      const struct call_path *path, struct text *words, struct finding *f)
{
    const struct shown_frame *wait = call_tree_node(s->g->tree, path->node).frame;
    struct file_call use = use_of(wait->call);
    struct text folder = {0};
    bool *nodes = call_path_nodes(&group->tally, path->node);
    size_t n = tally_files(&group->tally, nodes, &folder);
    free(nodes);
    add_figure(f, "files", (double)n);
    text_addf(words, "%s ", use.doing);
    if (n > 1)
        text_addf(words, "%zu files in ", n);
    const char *where = n > 1 && wait->mount ? wait->mount : folder.s;
    text_add_path(words, where, MOST_PATH_COLUMNS);
    add_mount(s, wait->mount, words);
    text_release(&folder);
    int64_t once_ns = ns_a_call(s, group, path->node, wait->call);
    if (!once_ns)
        return;
    add_figure(f, "call_s", (double)once_ns / NS_PER_S);
    text_add(words, ", ");
    add_time(words, once_ns);
    text_addf(words, " %s", use.once);
}

/* For how long GROUP runs, or waits for a CPU, in a call that brings a file to its disk: what the
 * kernel computes there is part of it. */
static int64_t syncing_ns(const struct judgement *s, struct thread_group *group)
{
    static const char *const calls[] = {"fsync",           "fdatasync", "msync",
                                        "sync_file_range", "syncfs",    NULL};
    int64_t ns = 0;
    for (uint32_t node = 1; node <= call_tree_count(s->g->tree); node++) {
        const struct shown_frame *f = call_tree_node(s->g->tree, node).frame;
        if (f->kind == SHOWN_NATIVE && f->libc && str_is_one_of(frame_libc_name(f->name), calls))
            ns += tally_self(&group->tally, node);
    }
    return ns;
}

/* Is NODE, a sync, one of a transaction?  A checkpoint of SQLite's is one of many. */
static bool is_transactions_sync(const struct judgement *s, uint32_t node)
{
    const struct call_node at = call_tree_node(s->g->tree, node);
    bool syncs = at.frame->call && strstr(at.frame->call, "sync");
    bool commits = false;
    for (; syncs && node; node = call_tree_node(s->g->tree, node).parent) {
        const struct shown_frame *f = call_tree_node(s->g->tree, node).frame;
        commits |= known_does(f, DOES_RETRY_LOCK) || known_does(f, DOES_COMMIT);
        syncs = !strstr(f->name, "heckpoint");
    }
    return syncs && commits;
}

/* " In all save a.py:14 takes 88% of its time.": that function of the user's has much more of it
 * than SHARE, in what it does around the calls at NODE. */
static void add_all_of_place(const struct judgement *s, struct thread_group *group, uint32_t node,
                             double share, struct text *words)
{
    static const double much_more = 0.15;
    struct call_path own = call_path_own(&group->tally);
    double all = share_of(own.ns, group->wall_ns);
    if (own.caller && all >= share + much_more &&
        call_path_own_key(s->g->tree, own.node) == call_path_own_key(s->g->tree, node)) {
        text_add(words, " In all ");
        add_name(words, own.caller);
        text_add(words, " takes ");
        add_percent(words, all);
        text_addf(words, " of %s time.", possessive(group));
    }
    call_path_release(&own);
}

/* " It waits for a CPU for 83% of its time.": which is no file's. */
static void add_cpu_wait(const struct thread_group *group, struct text *words)
{
    static const double much = 0.3;
    double share = share_of(group->runqueue_ns, group->wall_ns);
    if (share < much)
        return;
    text_addf(words, " %s wait%s for a CPU for ", group->plural ? "They" : "It", verb_s(group));
    add_percent(words, share);
    text_addf(words, " of %s time.", possessive(group));
}

struct file_facts {
    struct call_path path; /* the heaviest to a file */
};

void rule_files(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    double blocked = share_of(group->class_ns[CLASS_FILE], group->wall_ns);
    struct file_facts facts;
    f->share = blocked + share_of(syncing_ns(s, group), group->wall_ns);
    add_figure(f, "share", f->share);
    add_figure(f, "blocked_share", blocked);
    if (f->share < worth_telling || blocked < least_blocked ||
        !heaviest_in_class(&group->tally, CLASS_FILE, &facts.path))
        return;
    finding_applies(f, &facts, sizeof facts);
}

void tell_files(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct call_path *path = &((struct file_facts *)f->facts)->path;
    double here = share_of(call_path_call_ns(&group->tally, path), group->wall_ns);
    add_opening_part(group, "spend", f->share, here, words);
    text_add(words, " ");
    add_files(s, group, path, words, f);
    if (path->caller || path->inner) {
        text_add(words, ", ");
        add_place(words, path);
    }
    text_add(words, ".");
    add_all_of_place(s, group, path->node, f->share, words);
    add_cpu_wait(group, words);
    if (is_transactions_sync(s, path->node)) /* https://sqlite.org/faq.html, question 19 */
        text_add(words, " Each transaction is synced: put many rows into one.");
}

void release_files(void *facts)
{
    call_path_release(&((struct file_facts *)facts)->path);
}
