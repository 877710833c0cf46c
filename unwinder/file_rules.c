#include "unwinder/file_rules.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "unwinder/cfi.h"

struct file_rules {
    struct elf_file *file; /* which owns this */
    struct cfi *cfi;
    struct functions *functions; /* NULL: not asked for yet */
    struct map by_addr;          /* ELF address → the rule's address here */
};

static void free_rules(void *extra)
{
    struct file_rules *r = extra;
    assert(r->by_addr.n == 0);
    cfi_free(r->cfi);
    functions_free(r->functions);
    map_release(&r->by_addr);
    free(r);
}

struct file_rules *file_rules_of(struct elf_file *f)
{
    struct file_rules *r = elf_file_extra(f);
    if (r)
        return r;
    r = xcalloc(1, sizeof *r);
    r->file = f;
    r->cfi = cfi_open(f);
    elf_file_set_extra(f, r, free_rules);
    return r;
}

struct file_rule *file_rules_take(struct file_rules *r, uint64_t elf_addr, bool *ret_known)
{
    uint64_t known;
    *ret_known = map_get(&r->by_addr, elf_addr, &known);
    if (*ret_known) {
        struct file_rule *rule = (struct file_rule *)(uintptr_t)known;
        rule->users++;
        return rule;
    }
    struct file_rule found = {.elf_addr = elf_addr, .users = 1, .rules = r};
    if (cfi_find(r->cfi, elf_addr, &found.rule, &found.function) < 0)
        return NULL;
    struct file_rule *rule = xmalloc(sizeof *rule);
    *rule = found;
    map_put(&r->by_addr, elf_addr, (uintptr_t)rule);
    return rule;
}

struct file_rule *file_rule_drop(struct file_rule *rule)
{
    if (!rule || --rule->users)
        return NULL;
    map_remove(&rule->rules->by_addr, rule->elf_addr);
    free(rule);
    return NULL;
}

struct functions *file_rules_functions(struct file_rules *r)
{
    if (!r->functions)
        r->functions = functions_new(r->file);
    return r->functions;
}
