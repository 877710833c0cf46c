/* The ELF file of a module: opened, else rebuilt from memory; see modules.h. */
#include <errno.h>

#include "target/module_open.h"
#include "target/modules_private.h"

/* Makes F, of ORIGIN, E's file, if the mapping is one of its segments.  F is taken over.
 * Returns whether it was open already. */
static bool set_file(struct modules *m, struct module_entry *e, struct elf_file *f,
                     enum module_origin origin)
{
    const struct mapping *mapping = &e->source.mapping;
    bool known = false;
    if (!f || !elf_file_bias(f, mapping->start, mapping->file_offset, &e->module.bias)) {
        elf_file_free(f);
        return false;
    }
    e->module.elf = elf_store_keep(m->files, f, &known);
    m->counters.origins[origin]++;
    return known;
}

static void open_file(struct modules *m, struct module_entry *e)
{
    enum module_origin origin;
    if (e->tried || e->object.entry)
        return;
    e->tried = true;
    struct elf_file *f = module_open(&e->source, m->files, &origin);
    (void)set_file(m, e, f, origin);
}

static void make_image(struct modules *m, struct module_entry *e)
{
    struct elf_budget *budget = &m->counters.images;
    const uint64_t bytes = budget->bytes;
    struct elf_file *f;
    bool known = false;
    if (e->tried_memory)
        return;
    e->tried_memory = true;
    if (!e->object.entry)
        known = set_file(m, e, module_from_memory(&e->source, budget), MODULE_MEMORY);
    else if (elf_file_from_object(&f, m->mem, &e->object.file, budget) == 0) {
        e->module.elf = elf_store_keep(m->files, f, &known);
        m->counters.origins[MODULE_JIT]++;
    }
    m->counters.origins[MODULE_NONE] += !e->module.elf;
    if (!e->object.entry && (known || !e->module.elf)) /* as the vdso after each execve */
        budget->bytes = bytes;
}

struct elf_file *module_elf(struct modules *m, struct module *module)
{
    struct module_entry *e = m->entries[module->id];
    open_file(m, e);
    if (!module->elf)
        make_image(m, e);
    return module->elf;
}

int modules_symbol(struct modules *m, struct module_entry *e, const char *name, uint64_t *ret)
{
    struct addr_range range;
    open_file(m, e);
    if (!e->module.elf)
        return module_exported(&e->source, name, ret);
    if (elf_file_symbol(e->module.elf, name, &range) < 0)
        return -ENOENT;
    *ret = range.start + e->module.bias;
    return 0;
}
