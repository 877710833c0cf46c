#include "fleet/members.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

/* Of hostile input: who says more ranks than this says nothing. */
enum { MOST_WORLD = 1 << 20 };

struct finder {
    const struct fleet *f;
    struct members *m;
    struct map by_key;  /* rank, host and pid → member */
    struct map by_rank; /* document and rank → member */
    uint32_t *groups;   /* by process: its command line, alike but for numbers */
    uint32_t group;     /* whose processes are members, where there are no ranks */
};

/* Without a host and a rank a pid is one only within its input: containers have the same ones. */
static uint64_t process_key(const struct fleet *f, const struct fleet_process *p)
{
    uint64_t key = hash_u64((uint64_t)p->rank);
    bool nowhere = p->rank < 0 && !*fleet_see_text(f, p->host);
    key = hash_u64(key ^ (nowhere ? (uint64_t)p->input << 32 : p->host));
    return hash_u64(key ^ (uint64_t)p->pid);
}

static bool is_launcher(const struct fleet *f, const struct fleet_process *p)
{
    const struct fleet_thread *main = &f->threads[p->first_thread];
    return str_eq(fleet_see_text(f, f->waits[main->wait].sort), "waits for a child");
}

/* ---- a job without ranks ---- */

static void find_groups(struct finder *find)
{
    const struct fleet *f = find->f;
    struct map ids = {0};
    struct map sizes = {0};
    struct text text = {0};
    uint64_t best = 0;
    for (size_t i = 0; i < f->n_processes; i++) {
        const struct fleet_process *p = &f->processes[i];
        text_clear(&text);
        text_add_group(&text, fleet_see_text(f, p->command));
        uint64_t hash = hash_bytes(text.len ? text.s : "", text.len);
        uint64_t id = i;
        uint64_t n = 0;
        if (!map_get(&ids, hash, &id))
            map_put(&ids, hash, id);
        find->groups[i] = (uint32_t)id;
        if (is_launcher(f, p))
            continue;
        (void)map_get(&sizes, id, &n);
        map_put(&sizes, id, ++n);
        if (n > best) {
            best = n;
            find->group = (uint32_t)id;
        }
    }
    map_release(&ids);
    map_release(&sizes);
    text_release(&text);
}

/* Is process I of the fleet one of those that are compared? */
static bool takes_part(const struct finder *find, size_t i)
{
    const struct fleet_process *p = &find->f->processes[i];
    if (find->m->ranked)
        return p->rank >= 0;
    return find->groups[i] == find->group && !is_launcher(find->f, p);
}

/* ---- members ---- */

static struct member *add_member(struct members *m, int64_t rank, uint32_t process)
{
    m->items = array_reserve(m->items, &m->capacity, m->n + 1, sizeof *m->items);
    struct member *ret = &m->items[m->n++];
    *ret = (struct member){
        .rank = rank, .first = process, .last = process, .rounds = 1, .helpers = FLEET_NONE};
    return ret;
}

static void add_round(const struct fleet *f, struct member *m, uint32_t process)
{
    const char *time = fleet_see_text(f, f->processes[process].time);
    m->rounds++;
    if (strcmp(time, fleet_see_text(f, f->processes[m->first].time)) < 0)
        m->first = process;
    if (strcmp(time, fleet_see_text(f, f->processes[m->last].time)) >= 0)
        m->last = process;
}

/* A process that has another one's rank helps it: a data loader's, a launcher. */
static void place(struct finder *find, uint32_t i)
{
    uint64_t at = 0;
    const struct fleet_process *p = &find->f->processes[i];
    struct members *m = find->m;
    uint64_t in_document = hash_u64((uint64_t)p->document << 32 ^ (uint64_t)p->rank);
    if (m->ranked && map_get(&find->by_rank, in_document, &at)) {
        m->next_helper[i] = m->items[at].helpers;
        m->items[at].helpers = i;
        m->twice += !p->inherits;
        return;
    }
    if (map_get(&find->by_key, process_key(find->f, p), &at)) {
        add_round(find->f, &m->items[at], i);
        if (m->items[at].last == i)
            m->items[at].helpers = FLEET_NONE;
    } else {
        at = m->n;
        (void)add_member(m, p->rank, i);
        map_put(&find->by_key, process_key(find->f, p), at);
    }
    map_put(&find->by_rank, in_document, at);
}

static int compare(const void *a, const void *b, void *fleet)
{
    const struct member *x = a;
    const struct member *y = b;
    const struct fleet *f = fleet;
    const struct fleet_process *p = &f->processes[x->last];
    const struct fleet_process *q = &f->processes[y->last];
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    int hosts = strcmp(fleet_see_text(f, p->host), fleet_see_text(f, q->host));
    return hosts ? hosts : p->pid < q->pid ? -1 : p->pid > q->pid;
}

/* ---- absent ones ---- */

/* LOCAL_RANK alone numbers the ranks of each host anew. */
static bool ranks_are_of_hosts(const struct members *m)
{
    for (size_t i = 1; i < m->n; i++)
        if (m->items[i].rank == m->items[i - 1].rank)
            return true;
    return false;
}

static void find_absent(const struct fleet *f, struct members *m)
{
    int64_t next = 0;
    if (!m->ranked || !m->n || ranks_are_of_hosts(m))
        return;
    for (size_t i = 0; i < m->n; i++)
        if (f->processes[m->items[i].last].world > m->world)
            m->world = f->processes[m->items[i].last].world;
    if (m->items[m->n - 1].rank >= m->world)
        m->world = m->items[m->n - 1].rank + 1;
    if (m->world > MOST_WORLD)
        m->world = 0;
    for (size_t i = 0; i <= m->n && m->world; i++) {
        int64_t to = i < m->n ? m->items[i].rank : m->world;
        for (; next < to; next++) {
            m->absent =
                array_reserve(m->absent, &m->absent_capacity, m->n_absent + 1, sizeof *m->absent);
            m->absent[m->n_absent++] = next;
        }
        next = to + 1;
    }
}

void members_find(const struct fleet *f, struct members *ret)
{
    *ret = (struct members){.next_helper = xcalloc(f->n_processes + 1, sizeof(uint32_t))};
    struct finder find = {
        .f = f, .m = ret, .groups = xcalloc(f->n_processes + 1, sizeof(uint32_t))};
    for (size_t i = 0; i < f->n_processes; i++) {
        ret->next_helper[i] = FLEET_NONE;
        ret->ranked |= f->processes[i].rank >= 0;
    }
    if (!ret->ranked)
        find_groups(&find);
    /* A process that says that its rank is inherited comes after the one that has it. */
    for (int inherits = 0; inherits <= 1; inherits++)
        for (size_t i = 0; i < f->n_processes; i++)
            if (f->processes[i].inherits == (inherits == 1)) {
                if (takes_part(&find, i))
                    place(&find, (uint32_t)i);
                else
                    ret->aside++;
            }
    if (ret->n)
        qsort_r(ret->items, ret->n, sizeof *ret->items, compare, (void *)f);
    find_absent(f, ret);
    map_release(&find.by_key);
    map_release(&find.by_rank);
    free(find.groups);
}

void members_release(struct members *m)
{
    free(m->items);
    free(m->next_helper);
    free(m->absent);
    *m = (struct members){0};
}
