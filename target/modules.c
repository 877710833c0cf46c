/* The list of modules; see modules.h.
 *
 * A module's extent comes from its program headers in the target's memory, not from the looks of
 * the maps: text split by mprotect, text moved to huge pages, an anonymous tail of bss all belong
 * to it, and a file that the program maps to read it is none. */
#include "target/modules.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/search.h"
#include "base/text.h"
#include "target/elf_layout.h"
#include "target/modules_private.h"
#include "target/proc.h"

/* No program's segments lie further apart. */
static const uint64_t MAX_MODULE_BYTES = UINT64_C(1) << 40;

/* The header's mapping comes first, then code; more only where code was split by mprotect. */
enum { MAX_MAPPINGS_BEFORE_CODE = 32 };

/* A module as it shows in the maps. */
struct module_candidate {
    const struct mapping *mapping; /* its lowest */
    uint64_t start, end, head;
    struct build_id build_id;
};

static bool same_file(const struct mapping *a, const struct mapping *b)
{
    return mappings_have_one_file(a, b) && str_eq(a->path, b->path);
}

static bool same_id(const struct build_id *a, const struct build_id *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* Is there code where the segment S would be if its file were loaded like M?  Anonymous
 * memory may be code that was moved to huge pages. */
static bool code_is_loaded(const struct maps *maps, const struct mapping *m,
                           const struct elf_segment *s, uint64_t bias)
{
    uint64_t start = elf_page_down(bias + s->addr);
    const struct mapping *code = maps_find(maps, start);
    if (!code || !(code->prot & PROT_EXEC))
        return false;
    if (!same_file(code, m))
        return code->inode == 0;
    return code->file_offset + (start - code->start) == elf_page_down(s->offset);
}

/* Is all code of the ELF file, whose header lies in MAPPING, where loading puts it?  Not so if the
 * program maps the file just to read it. */
static bool is_loaded(const struct maps *maps, const struct mapping *mapping,
                      const struct elf_layout *layout, uint64_t bias)
{
    size_t code = 0;
    for (size_t i = 0; i < layout->n; i++) {
        const struct elf_segment *s = &layout->segments[i];
        if (s->type != PT_LOAD || !(s->flags & PF_X))
            continue;
        if (!code_is_loaded(maps, mapping, s, bias))
            return false;
        code++;
    }
    return code;
}

static bool find_loaded(const struct maps *maps, const struct mapping *mapping,
                        const struct elf_layout *layout, uint64_t bias,
                        struct module_candidate *ret)
{
    struct addr_range span;
    if (!is_loaded(maps, mapping, layout, bias) || !elf_layout_span(layout, &span))
        return false;
    uint64_t end = bias + span.start + span.len;
    if (end <= mapping->start || end - mapping->start > MAX_MODULE_BYTES)
        return false;
    ret->mapping = mapping;
    ret->start = ret->head = mapping->start;
    ret->end = end;
    return true;
}

/* Where the header cannot be read or is not mapped: successive mappings of one file, one of them
 * code, are taken for a module. */
static bool find_alike(const struct maps *maps, size_t first, struct module_candidate *ret)
{
    const struct mapping *m = &maps->items[first];
    const struct mapping *last = m;
    bool code = m->prot & PROT_EXEC;
    for (size_t i = first + 1; i < maps->n; i++) {
        const struct mapping *next = &maps->items[i];
        if (!same_file(next, m) || next->file_offset < last->file_offset)
            break;
        code = code || next->prot & PROT_EXEC;
        last = next;
    }
    if (!code || !m->inode)
        return false;
    *ret = (struct module_candidate){
        .mapping = m,
        .start = m->start,
        .end = last->end,
        .head = m->file_offset == 0 ? m->start : 0,
    };
    return true;
}

/* Is M of another file than that of INODE, or of none ([vdso], [heap])? */
static bool ends_file(const struct mapping *m, uint64_t inode)
{
    return (m->inode && m->inode != inode) ||
           (m->path[0] == '[' && strncmp(m->path, "[anon:", 6) != 0);
}

/* Is there code among the next mappings, before another file's?  The header of a file that is
 * mapped as data must not be read: that would bring a page of it into the target's memory, and wait
 * for that page.  Code without a name may be the file's, moved to huge pages, if it adjoins it. */
static bool has_code(const struct maps *maps, size_t first)
{
    const struct mapping *items = maps->items;
    if (items[first].prot & PROT_EXEC)
        return true;
    for (size_t i = first + 1; i < maps->n && i < first + MAX_MAPPINGS_BEFORE_CODE; i++) {
        if (ends_file(&items[i], items[first].inode))
            return false;
        if (items[i].prot & PROT_EXEC)
            return items[i].inode || items[i].start == items[i - 1].end;
    }
    return false;
}

static bool find_candidate(struct modules *m, size_t first, struct module_candidate *ret)
{
    const struct mapping *mapping = &m->maps.items[first];
    bool named = mapping->inode || str_eq(mapping->path, "[vdso]");
    if (!named || !has_code(&m->maps, first))
        return false;
    struct elf_layout layout;
    uint64_t bias;
    if (mapping->file_offset != 0 ||
        module_layout(m->mem, mapping->start, &layout, &bias, &ret->build_id) < 0)
        return find_alike(&m->maps, first, ret);
    return find_loaded(&m->maps, mapping, &layout, bias, ret);
}

static bool is_same_place(const void *item, const void *wanted)
{
    const struct module_entry *e = *(struct module_entry *const *)item;
    const struct module_candidate *c = wanted;
    return e->source.mapping.start == c->mapping->start &&
           same_file(&e->source.mapping, c->mapping) && same_id(&e->source.build_id, &c->build_id);
}

static struct module_entry *add_entry(struct modules *m, const struct module_candidate *c)
{
    struct module_entry *e = xcalloc(1, sizeof *e);
    e->path = xstrdup(c->mapping->path);
    e->source = (struct module_source){
        .pid = m->pid, .mem = m->mem, .mapping = *c->mapping, .build_id = c->build_id};
    e->source.mapping.path = e->path;
    e->module = (struct module){
        .id = (uint32_t)m->n,
        .path = e->path,
        .name = path_base(e->path),
        .start = c->start,
        .end = c->end,
        .head = c->head,
    };
    m->entries = array_reserve(m->entries, &m->capacity, m->n + 1, sizeof(struct module_entry *));
    m->entries[m->n++] = e;
    return e;
}

/* C's entry; NULL: there are MAX_MODULES, as of a program that maps a library anew again and again,
 * and it counts as a mapping that is left out. */
static struct module_entry *intern(struct modules *m, const struct module_candidate *c)
{
    uint64_t hash = hash_u64(c->mapping->start) ^ hash_u64(c->mapping->inode);
    uint32_t item =
        index_find(&m->by_place, hash, m->entries, sizeof *m->entries, is_same_place, c);
    if (item != INDEX_NONE)
        return m->entries[item];
    if (m->n >= MAX_MODULES) {
        m->maps.cut = true;
        return NULL;
    }
    struct module_entry *e = add_entry(m, c);
    index_add(&m->by_place, hash, e->module.id);
    return e;
}

static void activate(struct modules *m, struct module_entry *e, const struct module_candidate *c)
{
    e->source.head = c->head;
    /* map_files wants the extent that the mapping has now. */
    e->source.mapping.end = c->mapping->end;
    if (e->module.end < c->end)
        e->module.end = c->end;
    m->active = array_reserve(m->active, &m->active_capacity, m->active_n + 1, sizeof *m->active);
    m->active[m->active_n++] = (struct active){c->start, c->end, e, m->read_ns};
    m->active_hash = hash_u64(m->active_hash ^ e->module.id);
}

static void deactivate_all(struct modules *m)
{
    for (size_t i = 0; i < m->active_n; i++)
        m->active[i].entry->source.head = 0;
    m->active_n = 0;
    m->asked = NULL;
    m->generation = 0;
}

struct modules *modules_new(pid_t pid, struct mem *mem)
{
    struct modules *m = xcalloc(1, sizeof *m);
    m->pid = pid;
    m->mem = mem;
    m->maps_fd = -1;
    m->counters.images.bytes = ELF_IMAGES_BYTES;
    m->files = m->own_files = elf_store_new();
    return m;
}

void modules_share(struct modules *m, struct elf_store *files)
{
    m->own_files = elf_store_free(m->own_files);
    m->files = files;
}

/* All that was mapped is so still. */
static void see_all(struct modules *m)
{
    for (size_t i = 0; i < m->active_n; i++)
        m->active[i].seen_ns = m->read_ns;
}

int modules_refresh(struct modules *m)
{
    int64_t read_ns = clock_now_ns();
    int r = maps_load(&m->maps, m->pid);
    if (r < 0)
        return r;
    m->read_ns = read_ns;
    if (m->maps.generation == m->generation) {
        see_all(m);
        return 0;
    }
    uint64_t before = m->active_hash;
    deactivate_all(m);
    m->active_hash = 0;
    uint64_t end = 0;
    for (size_t i = 0; i < m->maps.n; i++) {
        struct module_candidate c;
        if (m->maps.items[i].start < end || !find_candidate(m, i, &c))
            continue;
        struct module_entry *e = intern(m, &c);
        if (e)
            activate(m, e, &c);
        end = c.end;
    }
    m->generation = m->maps.generation;
    m->active_generation += m->active_hash != before;
    return 0;
}

const struct maps *modules_maps(const struct modules *m)
{
    return &m->maps;
}

static struct active *find_active(struct active *items, size_t n, uint64_t addr)
{
    size_t i = COUNT_UP_TO(items, n, end, addr);
    return i < n && items[i].start <= addr ? &items[i] : NULL;
}

struct module *modules_find(struct modules *m, uint64_t addr)
{
    const struct active *found = find_active(m->objects, m->objects_n, addr);
    if (!found)
        found = find_active(m->active, m->active_n, addr);
    return found ? &found->entry->module : NULL;
}

uint32_t modules_generation(const struct modules *m)
{
    return m->active_generation;
}

/* Is another file, or another part of it, mapped at ADDR in B than in A?  A mapping may begin
 * elsewhere than before, because mprotect splits mappings; ADDR's place in the file stays. */
static bool is_another(const struct mapping *a, const struct mapping *b, uint64_t addr)
{
    if (a->inode != b->inode || a->dev_major != b->dev_major || a->dev_minor != b->dev_minor)
        return true;
    return a->inode && a->file_offset + (addr - a->start) != b->file_offset + (addr - b->start);
}

/* The module that is mapped lowest.  Above a program are, in order, the heap, the libraries,
 * ld.so and the stack.  But with an unlimited stack (ulimit -s) libraries may be below. */
static struct module *lowest(struct modules *m)
{
    struct module *found = NULL;
    for (size_t i = 0; i < m->maps.n && !found; i++)
        found = modules_find(m, m->maps.items[i].start);
    return found;
}

/* Found by where the kernel has put the program's headers (getauxval(3)).  Of a program that
 * ld.so was asked to run those headers are ld.so's. */
struct module *modules_executable(struct modules *m)
{
    Elf64_auxv_t items[64] = {0};
    struct module *found = NULL;
    ssize_t len = proc_read_text(m->pid, 0, "auxv", (char *)items, sizeof items);
    for (size_t i = 0; len > 0 && i < (size_t)len / sizeof *items && !found; i++)
        if (items[i].a_type == AT_PHDR)
            found = modules_find(m, items[i].a_un.a_val);
    return found && !str_starts(found->name, "ld-") ? found : lowest(m);
}

static void close_maps(struct modules *m)
{
    if (m->maps_fd >= 0)
        close(m->maps_fd);
    m->maps_fd = -1;
    if (m->keeps_maps)
        elf_store_return_descriptor(m->files);
    m->keeps_maps = false;
}

/* Opening the maps takes ten times as long as asking; but there may be hundreds of processes. */
static void keep_or_close_maps(struct modules *m)
{
    if (m->maps_fd < 0 || m->keeps_maps)
        return;
    m->maps_fd = descriptor_keep(m->maps_fd, DESCRIPTOR_SPARE);
    if (m->maps_fd < 0)
        return;
    m->keeps_maps = elf_store_take_descriptor(m->files);
    if (!m->keeps_maps)
        close_maps(m);
}

bool modules_replaced(struct modules *m, uint64_t addr, int64_t since_ns)
{
    if (m->cannot_ask)
        return false;
    struct active *active = m->asked; /* a frame's caller is mostly in the same module */
    if (!active || addr < active->start || addr >= active->end)
        active = m->asked = find_active(m->active, m->active_n, addr);
    bool doubtful = active && active->seen_ns < since_ns;
    const struct mapping *known = doubtful ? maps_find(&m->maps, addr) : NULL;
    if (!known)
        return false;
    if (m->maps_fd < 0)
        m->maps_fd = maps_open(m->pid);
    if (m->maps_fd < 0 && m->maps_fd != -ESRCH) /* it may have ended */
        log_warn("maps", "cannot read the maps of %d: %s", m->pid, strerror(-m->maps_fd));
    struct mapping now;
    int64_t now_ns = clock_now_ns();
    int r = m->maps_fd < 0 ? m->maps_fd : maps_ask(m->maps_fd, addr, &now);
    m->cannot_ask = r == -ENOTTY;
    keep_or_close_maps(m);
    if (r == -ENOENT || (r == 0 && is_another(known, &now, addr)))
        return true;
    if (r == 0)
        active->seen_ns = now_ns;
    return false;
}

int modules_read_code(struct modules *m, uint64_t addr, void *buf, size_t len)
{
    const struct mapping *mapping = maps_find(&m->maps, addr);
    if (!mapping || !(mapping->prot & PROT_EXEC) || len > mapping->end - addr)
        return -EFAULT;
    return mem_read(m->mem, addr, buf, len) < 0 ? -EFAULT : 0;
}

struct module *modules_get(struct modules *m, uint32_t id)
{
    return id < m->n ? &m->entries[id]->module : NULL;
}

size_t modules_count(const struct modules *m)
{
    return m->n;
}

const struct module_counters *modules_counters(const struct modules *m)
{
    return &m->counters;
}

/* Forgets what JIT compilers registered, and where. */
static void forget_objects(struct modules *m)
{
    while (m->n_lists)
        jit_list_release(&m->lists[--m->n_lists]);
    map_release(&m->by_link);
    m->n_sought = m->objects_n = 0;
    m->objects_left = false;
    m->objects_generation++;
}

void modules_exec(struct modules *m)
{
    deactivate_all(m);
    forget_objects(m);
    /* The generation goes on counting. */
    m->maps.n = 0;
    m->maps.text_hash = 0;
    close_maps(m); /* they are the other program's */
}

struct modules *modules_free(struct modules *m)
{
    if (!m)
        return NULL;
    for (size_t i = 0; i < m->n; i++) {
        elf_file_free(m->entries[i]->module.elf);
        free(m->entries[i]->path);
        free(m->entries[i]->code);
        free(m->entries[i]);
    }
    forget_objects(m);
    close_maps(m);
    elf_store_free(m->own_files);
    free(m->entries);
    free(m->active);
    free(m->objects);
    index_release(&m->by_place);
    maps_release(&m->maps);
    free(m);
    return NULL;
}
