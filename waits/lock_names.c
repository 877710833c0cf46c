#include "waits/lock_names.h"

#include "base/text.h"
#include "symbolizer/data_names.h"

void lock_name_add(struct profile *p, const struct wait_target *s, uint64_t addr)
{
    struct text name = {0};
    struct text tame = {0};
    if (!profile_wants_lock(p, s->pid, addr))
        return;
    struct module *m = modules_find(s->modules, addr);
    struct elf_file *elf = m ? module_elf(s->modules, m) : NULL;
    text_add(&tame, "");
    if (elf && data_name_find(elf_file_elf(elf), addr - m->bias, &name))
        text_add_tame(&tame, name.s, name.len);
    profile_name_lock(p, s->pid, addr, tame.s);
    text_release(&name);
    text_release(&tame);
}

void lock_names_report(struct profile *p, const struct wait_target *s)
{
    for (uint32_t i = 1; i <= profile_wait_count(p); i++) {
        const struct wait_side *side = &profile_see_wait(p, (wait_id){i})->side;
        bool is_lock = side->thing == THING_MUTEX || side->thing == THING_RWLOCK;
        if (is_lock && side->addr && side->blocker.pid == s->pid)
            lock_name_add(p, s, side->addr);
    }
}
