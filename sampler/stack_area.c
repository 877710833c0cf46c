#include "sampler/stack_area.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/search.h"
#include "base/text.h"
#include "sampler/process.h"
#include "sampler/thread.h"

enum {
    PAGE_BYTES = 4096,
    READING_SHARE = 100,             /* of the time: one part of so many */
    READ_EVERY_NS = 20 * NS_PER_MS,  /* at most */
    MAPS_LAST_NS = NS_PER_S,         /* mappings that are used are read again after this */
    AREA_LASTS_NS = 100 * NS_PER_MS, /* to ask for one takes 1 µs */
};

static const uint64_t PAGE_MASK = PAGE_BYTES - 1;

void stack_maps_open(struct stack_maps *m)
{
    const char *no = getenv("WALLSPY_NO_PROCMAP_QUERY");
    m->fd = -1;
    m->may_ask = !(no && str_eq(no, "1"));
    m->stale = true;
}

static void forget_mappings(struct stack_maps *m)
{
    free(m->items);
    m->items = NULL;
    m->n = 0;
    m->main_stack = 0;
}

void stack_maps_forget(struct stack_maps *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
    forget_mappings(m);
    m->reading = (struct duty_cycle){0};
    m->stale = true;
}

void stack_maps_close(struct stack_maps *m)
{
    stack_maps_forget(m);
}

/* Opening them takes ten times as long as asking. */
static void keep_maps_open(struct stack_maps *m)
{
    if (m->fd >= 0)
        m->fd = descriptor_keep(m->fd, DESCRIPTOR_SPARE);
}

/* By any thread that lives: the first may have ended. */
static int open_maps(struct process *p)
{
    struct stack_maps *m = &p->stack_maps;
    for (size_t i = 0; i < p->n_threads && m->fd < 0; i++)
        if (!p->threads[i]->zombie)
            m->fd = proc_task_open(p->pid, p->threads[i]->tid, "maps");
    return m->fd;
}

/* Keeps of MAPS what stacks are found by: of many processes that is a fifth. */
static void keep_mappings(struct stack_maps *m, const struct maps *maps)
{
    forget_mappings(m);
    m->items = xmalloc(maps->n * sizeof *m->items);
    m->n = maps->n;
    for (size_t i = 0; i < maps->n; i++) {
        m->items[i] = (struct stack_mapping){maps->items[i].start, maps->items[i].end};
        if (str_eq(maps->items[i].path, "[stack]"))
            m->main_stack = maps->items[i].start;
    }
}

static bool read_mappings(struct process *p)
{
    struct stack_maps *m = &p->stack_maps;
    struct maps maps = {0};
    bool read = open_maps(p) >= 0 && lseek(m->fd, 0, SEEK_SET) == 0 && maps_read(&maps, m->fd) == 0;
    if (read)
        keep_mappings(m, &maps);
    maps_release(&maps);
    keep_maps_open(m);
    return read;
}

void stack_area_refresh(struct process *p)
{
    struct stack_maps *m = &p->stack_maps;
    bool due = m->stale || (m->used && clock_now_ns() - m->read_ns > MAPS_LAST_NS);
    if (!due || !p->n_threads || !duty_cycle_begin(&m->reading))
        return;
    m->stale = !read_mappings(p);
    m->used = false;
    m->read_ns = clock_now_ns();
    duty_cycle_end(&m->reading, READING_SHARE, READ_EVERY_NS);
}

/* The main thread's stack grows downwards, and its end stays: an address between the mapping below
 * and the stack's former start is in it. */
static bool find_read(struct stack_maps *m, uint64_t addr, struct stack_area *ret)
{
    m->used = true;
    const struct stack_mapping *items = m->items;
    size_t above = COUNT_UP_TO(items, m->n, start, addr);
    if (above > 0 && addr < items[above - 1].end) {
        *ret = (struct stack_area){items[above - 1].start, items[above - 1].end, addr};
        return true;
    }
    if (above == m->n || !m->main_stack || items[above].start != m->main_stack)
        return false;
    *ret = (struct stack_area){addr & ~PAGE_MASK, items[above].end, addr};
    return true;
}

/* The mapping at ADDR now; where the kernel cannot be asked, as the mappings were last read. */
static bool find_mapping(struct process *p, uint64_t addr, struct stack_area *ret)
{
    struct stack_maps *m = &p->stack_maps;
    struct mapping now;
    if (m->may_ask) {
        int r = open_maps(p) < 0 ? -ESRCH : maps_ask(m->fd, addr, &now);
        keep_maps_open(m);
        m->may_ask = r != -ENOTTY;
        if (r == 0)
            *ret = (struct stack_area){now.start, now.end, addr};
        if (m->may_ask)
            return r == 0;
    }
    if (find_read(m, addr, ret))
        return true;
    m->stale = true;
    stack_area_refresh(p);
    return find_read(m, addr, ret);
}

static bool holds(const struct stack_area *a, uint64_t addr)
{
    return addr >= a->start && addr < a->end;
}

static struct stack_area *find_known(struct thread *t, uint64_t sp)
{
    for (size_t i = 0; i < STACK_AREAS; i++)
        if (holds(&t->areas[i], sp))
            return &t->areas[i];
    return NULL;
}

/* Takes the place of the area that was found before the other. */
static void keep(struct thread *t, const struct stack_area *area)
{
    t->areas[1] = t->areas[0];
    t->areas[0] = *area;
}

/* Reads T's areas again.  If one has changed, the mappings that were read are stale, too. */
static void check_areas(struct thread *t)
{
    int64_t now_ns = clock_now_ns();
    if (now_ns - t->areas_checked_ns < AREA_LASTS_NS)
        return;
    t->areas_checked_ns = now_ns;
    for (size_t i = 0; i < STACK_AREAS; i++) {
        struct stack_area *a = &t->areas[i];
        struct stack_area now = {0};
        if (!a->end)
            continue;
        (void)find_mapping(t->process, a->sp, &now);
        t->process->stack_maps.stale |= now.end < a->end;
        *a = now;
    }
}

void stack_area_learn(struct thread *t, uint64_t sp)
{
    struct stack_area area;
    t->area_unknown = 0;
    check_areas(t);
    if (!find_known(t, sp) && find_mapping(t->process, sp, &area))
        keep(t, &area);
}

void stack_area_prepare(struct thread *t)
{
    if (t->area_unknown)
        stack_area_learn(t, t->area_unknown);
    else
        check_areas(t);
}

uint64_t stack_area_end(struct thread *t, uint64_t sp, bool *ret_unknown)
{
    struct stack_area area;
    struct stack_area *known = find_known(t, sp);
    *ret_unknown = false;
    if (known) {
        known->sp = sp;
        return known->end;
    }
    if (find_known(t, sp - 1)) /* an empty stack */
        return sp;
    if (find_read(&t->process->stack_maps, sp, &area)) {
        keep(t, &area);
        return area.end;
    }
    *ret_unknown = true;
    t->area_unknown = sp;
    t->process->stack_maps.stale = true;
    return (sp | PAGE_MASK) + 1;
}
