#include "waits/lock_names.h"

#include <stdlib.h>

#include "base/text.h"
#include "symbolizer/data_names.h"

char *lock_name_at(const struct wait_target *s, uint64_t addr)
{
    struct text name = {0};
    struct text tame = {0};
    struct module *m = modules_find(s->modules, addr);
    struct elf_file *elf = m ? module_elf(s->modules, m) : NULL;
    text_add(&tame, "");
    if (elf && data_name_find(elf_file_elf(elf), addr - m->bias, &name))
        text_add_tame(&tame, name.s, name.len);
    text_release(&name);
    return tame.s;
}

void lock_names_report(struct profile *p, const struct wait_target *s)
{
    for (uint32_t i = 1; i <= profile_wait_count(p); i++) {
        const struct wait_side *side = &profile_see_wait(p, (wait_id){i})->side;
        if (side->blocker.pid != s->pid || !side->addr ||
            (side->thing != THING_MUTEX && side->thing != THING_RWLOCK) ||
            !profile_wants_lock(p, side->blocker.pid, side->addr))
            continue;
        char *name = lock_name_at(s, side->addr);
        profile_name_lock(p, side->blocker.pid, side->addr, name);
        free(name);
    }
}
