/* The objects that JIT compilers in the target register with debuggers, as modules; see
 * modules.h. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "target/elf_object.h"
#include "target/modules_private.h"

enum {
    MAX_CODE_SECTIONS = 64,        /* of one object */
    MAX_HEADERS_AT_ONCE = 1 << 18, /* of new objects: 16 MiB */
    JIT_COST_SHARE = 32, /* at most one part in so many of the time goes into reading lists */
};

/* Is there a list in modules not asked before?  Opens their files. */
static void seek_lists(struct modules *m)
{
    for (; m->n_sought < m->n; m->n_sought++) {
        struct module_entry *e = m->entries[m->n_sought];
        uint64_t descriptor;
        if (e->object.entry || m->n_lists == MAX_JIT_LISTS ||
            modules_find(m, e->module.start) != &e->module)
            continue;
        if (modules_symbol(m, e, JIT_DESCRIPTOR, &descriptor) == 0)
            m->lists[m->n_lists++] = (struct jit_list){.descriptor = descriptor};
    }
}

static struct module_entry *add_object(struct modules *m, const struct jit_object *o)
{
    struct module_entry *e = xcalloc(1, sizeof *e);
    e->object = *o;
    e->path = xasprintf("[jit %zu]", ++m->n_objects_ever);
    e->module =
        (struct module){.id = (uint32_t)m->n, .path = e->path, .name = "[jit]", .jit = true};
    m->entries = array_reserve(m->entries, &m->capacity, m->n + 1, sizeof(struct module_entry *));
    return m->entries[m->n++] = e;
}

static bool same_object(const struct jit_object *a, const struct jit_object *b)
{
    return a->entry == b->entry && a->file.start == b->file.start && a->file.len == b->file.len;
}

/* The entry of the object O: by OLD, the one it had when the lists were last read.  NULL: there
 * are too many. */
static struct module_entry *intern_object(struct modules *m, const struct map *old,
                                          const struct jit_object *o)
{
    uint64_t id;
    if (map_get(old, o->entry, &id) && same_object(&m->entries[id]->object, o))
        return m->entries[id];
    return m->n_objects_ever < MAX_JIT_OBJECTS ? add_object(m, o) : NULL;
}

/* Reads where the code of E is, unless that is known.  Returns how many headers it read. */
static size_t read_code(struct modules *m, struct module_entry *e)
{
    struct addr_range code[MAX_CODE_SECTIONS];
    size_t headers = 0;
    if (e->n_code)
        return 0;
    e->n_code = elf_object_code(m->mem, &e->object.file, code, MAX_CODE_SECTIONS, &headers);
    if (e->n_code)
        e->code = xmalloc(e->n_code * sizeof *code);
    for (size_t i = 0; i < e->n_code; i++) {
        if (i == 0 || code[i].start < e->module.start)
            e->module.start = code[i].start;
        if (code[i].start + code[i].len > e->module.end)
            e->module.end = code[i].start + code[i].len;
        e->code[i] = code[i];
    }
    return headers;
}

static void activate_object(struct modules *m, struct module_entry *e)
{
    m->objects = array_reserve(m->objects, &m->objects_capacity, m->objects_n + e->n_code,
                               sizeof *m->objects);
    for (size_t i = 0; i < e->n_code; i++)
        m->objects[m->objects_n++] =
            (struct active){e->code[i].start, e->code[i].start + e->code[i].len, e, 0};
}

static int compare_active(const void *a, const void *b)
{
    const struct active *x = a;
    const struct active *y = b;
    return compare_u64(x->start, y->start);
}

/* Objects do not overlap, unless the target lies. */
static void sort_objects(struct modules *m)
{
    size_t kept = 0;
    if (m->objects_n)
        qsort(m->objects, m->objects_n, sizeof *m->objects, compare_active);
    for (size_t i = 0; i < m->objects_n; i++)
        if (!kept || m->objects[i].start >= m->objects[kept - 1].end)
            m->objects[kept++] = m->objects[i];
    m->objects_n = kept;
}

static void take_lists(struct modules *m)
{
    struct map old = m->by_link;
    size_t headers = 0;
    m->by_link = (struct map){0};
    m->objects_n = 0;
    m->objects_left = false;
    for (size_t l = 0; l < m->n_lists; l++)
        for (size_t i = 0; i < m->lists[l].n; i++) {
            struct module_entry *e = intern_object(m, &old, &m->lists[l].items[i]);
            if (!e)
                continue;
            map_put(&m->by_link, e->object.entry, e->module.id);
            if (headers < MAX_HEADERS_AT_ONCE)
                headers += read_code(m, e);
            else
                m->objects_left |= !e->n_code;
            activate_object(m, e);
        }
    sort_objects(m);
    map_release(&old);
    m->objects_generation++;
}

uint32_t modules_refresh_objects(struct modules *m)
{
    bool changed = false;
    if (!m->n_lists || !duty_cycle_begin(&m->reading))
        return m->objects_generation;
    for (size_t i = 0; i < m->n_lists; i++)
        changed |= jit_list_refresh(&m->lists[i], m->mem);
    if (changed || m->objects_left)
        take_lists(m);
    duty_cycle_end(&m->reading, JIT_COST_SHARE, 0);
    return m->objects_generation;
}

struct module *modules_seek(struct modules *m, uint64_t addr)
{
    const struct mapping *mapping = maps_find(&m->maps, addr);
    if (!mapping || !(mapping->prot & PROT_EXEC))
        return NULL;
    seek_lists(m);
    (void)modules_refresh_objects(m);
    return modules_find(m, addr);
}
