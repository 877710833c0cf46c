#include "worker/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/duty_cycle.h"
#include "base/hash.h"
#include "base/text.h"
#include "target/proc.h"
#include "target/process_list.h"

enum {
    LOOK_EVERY_NS = 20 * NS_PER_MS,
    MOST_BIRTHS = 1024, /* between two looks, each looked at by its number; 3 µs each */
    MOST_AWAITED = 256,
    MOST_PROCESSES = 1 << 16,
    LONGEST_LIST_NS = 100 * NS_PER_MS,
    WHOLE_SHARE = 200,    /* of the time, for the check of the births */
    SOON_SHARE = 10,      /* of the time, where births are not enough */
    LISTED_AT_MOST = 256, /* children of a process, by process_list_add_children() */
};
/* A number is given before its process can be seen: fork(2) copies the page tables in between. */
static const int64_t AWAIT_NS = 2 * (int64_t)NS_PER_S;

struct node { /* a process whose children are looked for */
    pid_t pid;
    uint64_t start_ticks;
};

/* A number that was given, under which nobody was seen yet. */
struct awaited {
    pid_t pid;
    int64_t until_ns;
};

struct birth {
    pid_t pid, ppid;
    uint64_t start_ticks;
    int64_t until_ns; /* awaited until then, if nobody has the number yet */
};

struct births {
    struct birth items[MOST_BIRTHS + MOST_AWAITED];
    size_t n;
};

struct descendants {
    pid_t own;
    bool no_children_files;
    int loadavg_fd; /* −1: not open */
    pid_t last_pid; /* the last one looked at */
    bool doubted;   /* /proc/loadavg did not show a birth */
    struct node *nodes;
    size_t n, capacity;
    struct map by_pid; /* pid → index into nodes */
    struct awaited awaited[MOST_AWAITED];
    size_t n_awaited;
    struct births births; /* of the present look */
    int64_t births_due_ns;
    bool whole_wanted; /* soon: births were left out */
    struct duty_cycle checking, soon;
    struct process_list list;
    void (*each)(void *ctx, const struct descendant *found);
    void *ctx;
    size_t found;
};

/* ---- the kernel's numbers ---- */

pid_t descendants_parse_last_pid(const char *text, size_t len)
{
    const char *space = memrchr(text, ' ', len);
    size_t digits = space ? len - (size_t)(space + 1 - text) : 0;
    char number[16] = "";
    int64_t pid;
    if (digits && space[digits] == '\n')
        digits--;
    if (!digits || digits >= sizeof number)
        return 0;
    memcpy(number, space + 1, digits);
    return parse_whole_i64(number, 1, INT_MAX, &pid) == 0 ? (pid_t)pid : 0;
}

bool descendants_is_between(pid_t pid, pid_t last, pid_t now)
{
    return last <= now ? pid > last && pid <= now : pid > last || pid <= now;
}

static pid_t read_last_pid(const struct descendants *d)
{
    char text[128];
    ssize_t len = d->loadavg_fd >= 0 ? pread(d->loadavg_fd, text, sizeof text, 0) : -1;
    return len > 0 ? descendants_parse_last_pid(text, (size_t)len) : 0;
}

/* ---- known processes ---- */

static struct node *node_of(struct descendants *d, pid_t pid)
{
    uint64_t i;
    return map_get(&d->by_pid, (uint64_t)pid, &i) ? &d->nodes[i] : NULL;
}

static void forget(struct descendants *d, struct node *node)
{
    map_remove(&d->by_pid, (uint64_t)node->pid);
    *node = d->nodes[--d->n];
    if (node != &d->nodes[d->n])
        map_put(&d->by_pid, (uint64_t)node->pid, (uint64_t)(node - d->nodes));
}

/* The node of PID, if that process still has this number. */
static struct node *find_living(struct descendants *d, pid_t pid)
{
    struct task_stat stat;
    struct node *node = node_of(d, pid);
    if (node && (proc_stat(pid, 0, &stat) < 0 || stat.start_ticks != node->start_ticks)) {
        forget(d, node);
        return NULL;
    }
    return node;
}

static void remember(struct descendants *d, pid_t pid, uint64_t start_ticks)
{
    struct node *node = node_of(d, pid);
    if (!node) {
        d->nodes = array_reserve(d->nodes, &d->capacity, d->n + 1, sizeof *d->nodes);
        map_put(&d->by_pid, (uint64_t)pid, d->n);
        node = &d->nodes[d->n++];
    }
    *node = (struct node){pid, start_ticks};
}

bool descendants_add(struct descendants *d, pid_t pid)
{
    struct task_stat stat;
    if (proc_stat(pid, 0, &stat) < 0)
        return false;
    remember(d, pid, stat.start_ticks);
    return true;
}

/* PID, which STAT is of, is a child of a known process.  Returns whether it is new. */
static bool add_if_new(struct descendants *d, pid_t pid, uint64_t start_ticks)
{
    const struct node *known = node_of(d, pid);
    if (pid == d->own || (known && known->start_ticks == start_ticks))
        return false;
    remember(d, pid, start_ticks);
    d->found++;
    d->each(d->ctx, &(struct descendant){pid, start_ticks});
    return true;
}

/* ---- births ---- */

static void await(struct descendants *d, pid_t pid, int64_t until_ns)
{
    if (d->n_awaited == MOST_AWAITED)
        d->whole_wanted = true;
    else
        d->awaited[d->n_awaited++] = (struct awaited){pid, until_ns};
}

static void add_birth(struct descendants *d, struct births *b, pid_t pid, int64_t until_ns,
                      int64_t now_ns)
{
    struct task_stat stat;
    if (proc_stat(pid, 0, &stat) < 0) {
        if (until_ns > now_ns)
            await(d, pid, until_ns);
        return;
    }
    b->items[b->n++] = (struct birth){pid, stat.ppid, stat.start_ticks, until_ns};
}

static bool is_process(pid_t pid)
{
    struct task_status status;
    return proc_status(pid, 0, &status) == 0 && status.tgid == pid;
}

/* A child's number may be below its parent's where numbers began anew, so it takes several rounds.
 * A thread has a number, too, and the parent of its process. */
static void list_new_children(struct descendants *d, struct births *b)
{
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < b->n; i++) {
            struct birth *birth = &b->items[i];
            if (!birth->ppid || !find_living(d, birth->ppid))
                continue;
            any |= is_process(birth->pid) && add_if_new(d, birth->pid, birth->start_ticks);
            birth->ppid = 0;
        }
    }
}

/* Looks at the numbers that were given up to NOW_PID, and at those that nobody had. */
static void look_at_births(struct descendants *d, pid_t now_pid)
{
    struct awaited awaited[MOST_AWAITED];
    size_t n_awaited = d->n_awaited;
    int64_t now_ns = clock_now_ns();
    d->births.n = 0;
    memcpy(awaited, d->awaited, n_awaited * sizeof *awaited);
    d->n_awaited = 0;
    for (size_t i = 0; i < n_awaited; i++)
        add_birth(d, &d->births, awaited[i].pid, awaited[i].until_ns, now_ns);
    bool few = now_pid >= d->last_pid && now_pid - d->last_pid <= MOST_BIRTHS;
    for (pid_t pid = d->last_pid + 1; few && pid <= now_pid; pid++)
        add_birth(d, &d->births, pid, now_ns + AWAIT_NS, now_ns);
    d->whole_wanted |= !few;
    d->last_pid = now_pid;
    list_new_children(d, &d->births);
}

/* ---- all children ---- */

static bool has_children_files(void)
{
    char text[PROC_TEXT_BYTES];
    const char *no = getenv("WALLSPY_NO_PROC_CHILDREN");
    return !(no && str_eq(no, "1")) &&
           proc_read_text(getpid(), gettid(), "children", text, sizeof text) >= 0;
}

/* /proc/loadavg has not shown PID, which was found otherwise. */
static bool was_hidden(const struct descendants *d, pid_t pid)
{
    for (size_t i = 0; i < d->n_awaited; i++)
        if (d->awaited[i].pid == pid)
            return false;
    return !descendants_is_between(pid, d->last_pid, read_last_pid(d));
}

static bool meet_listed(struct descendants *d, const struct listed_process *p)
{
    bool is_new = find_living(d, (pid_t)p->ppid) && add_if_new(d, (pid_t)p->pid, p->start_ticks);
    d->doubted |= is_new && was_hidden(d, (pid_t)p->pid);
    return is_new;
}

static void look_at_list(struct descendants *d)
{
    process_list_read(&d->list, MOST_PROCESSES, LONGEST_LIST_NS);
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < d->list.n; i++)
            if (node_of(d, (pid_t)d->list.items[i].ppid))
                any |= meet_listed(d, &d->list.items[i]);
    }
}

/* False: there may be more children than can be listed so. */
static bool look_at_children(struct descendants *d)
{
    bool all = true;
    for (size_t i = 0; i < d->n; i++) {
        pid_t pid = d->nodes[i].pid;
        d->list.n = 0;
        (void)process_list_add_children(&d->list, pid);
        all &= d->list.n < LISTED_AT_MOST;
        for (size_t k = 0; k < d->list.n; k++)
            if (d->list.items[k].ppid == (uint64_t)pid)
                (void)meet_listed(d, &d->list.items[k]);
    }
    return all;
}

static void look_at_all(struct descendants *d)
{
    for (size_t i = d->n; i-- > 0;)
        (void)find_living(d, d->nodes[i].pid);
    if (d->no_children_files || !look_at_children(d))
        look_at_list(d);
    d->whole_wanted = false;
}

/* ---- a look ---- */

struct descendants *descendants_new(void)
{
    struct descendants *d = xcalloc(1, sizeof *d);
    d->own = getpid();
    d->no_children_files = !has_children_files();
    d->loadavg_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    d->last_pid = read_last_pid(d);
    return d;
}

/* Births show most at once.  A look at all is due now and then, and soon where they do not. */
static void look_at_all_if_due(struct descendants *d, bool whole)
{
    bool soon = d->whole_wanted || d->doubted || !d->last_pid;
    struct duty_cycle *cycle = soon ? &d->soon : &d->checking;
    if (whole)
        cycle->due_ns = 0;
    if (!duty_cycle_begin(cycle))
        return;
    bool doubted = d->doubted;
    look_at_all(d);
    if (whole) /* older processes raise no doubt */
        d->doubted = doubted;
    duty_cycle_end(cycle, soon ? SOON_SHARE : WHOLE_SHARE, soon ? LOOK_EVERY_NS : NS_PER_S);
}

size_t descendants_look(struct descendants *d, bool whole,
                        void (*each)(void *ctx, const struct descendant *found), void *ctx)
{
    int64_t now_ns = clock_now_ns();
    pid_t now_pid = read_last_pid(d);
    d->each = each;
    d->ctx = ctx;
    d->found = 0;
    if ((now_pid != d->last_pid || d->n_awaited) && now_ns >= d->births_due_ns) {
        look_at_births(d, now_pid);
        d->births_due_ns = now_ns + LOOK_EVERY_NS;
    }
    look_at_all_if_due(d, whole);
    return d->found;
}

struct descendants *descendants_free(struct descendants *d)
{
    if (!d)
        return NULL;
    if (d->loadavg_fd >= 0)
        close(d->loadavg_fd);
    process_list_release(&d->list);
    map_release(&d->by_pid);
    free(d->nodes);
    free(d);
    return NULL;
}
