#include "unwinder/rule_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "unwinder/cfi.h"
#include "unwinder/code.h"
#include "unwinder/functions.h"
#include "unwinder/way_out.h"

/* way_in_usual() of a function. */
struct usual {
    struct rule rule;
    int result;
};

struct rule_cache {
    struct modules *modules;
    struct map by_addr; /* to the index in items */
    struct cached_rule **items;
    size_t n, capacity;
    struct map cfi_of_file; /* its address → the index in cfi: modules may share a file */
    struct cfi **cfi;
    size_t n_cfi, cfi_capacity;
    struct map functions_of_file; /* the same, to the index in functions */
    struct functions **functions;
    size_t n_functions, functions_capacity;
    struct map usual_of_entry; /* to the index in usual */
    struct usual *usual;
    size_t n_usual, usual_capacity;
    size_t bytes;   /* of the items, and of their rules' expressions */
    size_t unfound; /* items that no CFI covers, since the last sweep */
    uint64_t unmapped[RULE_CACHE_UNMAPPED];
    size_t n_unmapped;
};

struct rule_cache *rule_cache_new(struct modules *modules)
{
    struct rule_cache *c = xcalloc(1, sizeof *c);
    c->modules = modules;
    return c;
}

static struct cfi *cfi_of(struct rule_cache *c, struct module *module)
{
    struct elf_file *elf = module_elf(c->modules, module);
    uint64_t at;
    if (!elf)
        return NULL;
    if (map_get(&c->cfi_of_file, (uintptr_t)elf, &at))
        return c->cfi[at];
    c->cfi = array_reserve(c->cfi, &c->cfi_capacity, c->n_cfi + 1, sizeof *c->cfi);
    map_put(&c->cfi_of_file, (uintptr_t)elf, c->n_cfi);
    return c->cfi[c->n_cfi++] = cfi_open(elf);
}

static struct functions *functions_of(struct rule_cache *c, struct elf_file *elf)
{
    uint64_t at;
    if (map_get(&c->functions_of_file, (uintptr_t)elf, &at))
        return c->functions[at];
    c->functions = array_reserve(c->functions, &c->functions_capacity, c->n_functions + 1,
                                 sizeof(struct functions *));
    map_put(&c->functions_of_file, (uintptr_t)elf, c->n_functions);
    return c->functions[c->n_functions++] = functions_new(elf);
}

void rule_cache_find_entry(struct rule_cache *c, struct cached_rule *rule)
{
    if (rule->entry_sought || rule->function)
        return;
    rule->entry_sought = true;
    struct module *module = modules_find(c->modules, rule->addr);
    struct elf_file *elf = module ? module_elf(c->modules, module) : NULL;
    struct addr_range function;
    if (!elf)
        return;
    struct functions *functions = functions_of(c, elf);
    if (functions_find(functions, rule->addr - module->bias, &function) == 0) {
        rule->entry = rule->begin = function.start + module->bias;
        return;
    }
    uint64_t begin = functions_begin(functions, rule->addr - module->bias);
    rule->begin = begin ? begin + module->bias : 0;
}

static void note_unmapped(struct rule_cache *c, uint64_t addr)
{
    const struct mapping *m = maps_find(modules_maps(c->modules), addr);
    if (m && m->prot & PROT_EXEC)
        return;
    if (c->n_unmapped < RULE_CACHE_UNMAPPED)
        c->unmapped[c->n_unmapped] = addr;
    c->n_unmapped++;
}

/* The dynamic linker's _start has no CFI, nor have those of musl and others: some 60 bytes. */
static bool is_at_entry(const struct rule_cache *c, struct module *module, uint64_t addr)
{
    enum { ENTRY_BYTES = 64 };
    struct elf_file *elf = module_elf(c->modules, module);
    uint64_t entry = elf ? elf_file_entry(elf) : 0;
    return entry && addr - module->bias - entry < ENTRY_BYTES;
}

static void build(struct rule_cache *c, struct cached_rule *item)
{
    struct module *module = modules_find(c->modules, item->addr);
    if (!module)
        module = modules_seek(c->modules, item->addr);
    if (!module) {
        note_unmapped(c, item->addr);
        return;
    }
    struct cfi *cfi = cfi_of(c, module);
    struct addr_range function = {0, 0};
    item->module = module->id;
    item->found =
        cfi && cfi_find(cfi, item->addr - module->bias, module->bias, &item->rule, &function) == 0;
    item->function = function.len ? function.start + module->bias : 0;
    item->function_bytes = function.len;
    if (item->found && item->rule.is_signal)
        return;
    /* musl's trampoline has no CFI, Go's one that does not say what it is. */
    if (code_is_sigreturn(c->modules, item->addr)) {
        rule_release(&item->rule);
        item->found = true;
        item->rule = rule_sigreturn();
    } else if (!item->found && code_is_clone_return(c->modules, item->addr)) {
        item->found = true;
        item->rule = rule_clone_return();
    } else if (!item->found) {
        item->at_entry = is_at_entry(c, module, item->addr);
    }
}

static size_t bytes_of(const struct cached_rule *item)
{
    return sizeof *item + item->rule.n_ops * sizeof *item->rule.ops;
}

struct cached_rule *rule_cache_find(struct rule_cache *c, uint64_t addr, bool *hit)
{
    uint64_t at;
    *hit = map_get(&c->by_addr, addr, &at);
    if (*hit)
        return c->items[at];
    struct cached_rule *item = xcalloc(1, sizeof *item);
    item->addr = addr;
    build(c, item);
    c->unfound += !item->found;
    c->bytes += bytes_of(item);
    c->items = array_reserve(c->items, &c->capacity, c->n + 1, sizeof(struct cached_rule *));
    map_put(&c->by_addr, addr, c->n);
    c->items[c->n++] = item;
    return item;
}

static int read_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
    return code_read_any(ctx, addr, buf, len);
}

bool rule_cache_way_out(struct rule_cache *c, struct cached_rule *rule, uint64_t pc)
{
    if (rule->found || rule->way_out_state == WAY_OUT_KNOWN)
        return true;
    if (rule->way_out_state == WAY_OUT_UNTRIED)
        rule_cache_find_entry(c, rule);
    if (rule->way_out_state == WAY_OUT_UNTRIED &&
        !(rule->entry && rule_cache_way_in(c, rule, rule->entry, pc))) {
        bool known = way_out_find(read_code, c->modules, pc, &rule->rule) == 0;
        rule->way_out_state = known ? WAY_OUT_KNOWN : WAY_OUT_NONE;
    }
    return rule->way_out_state == WAY_OUT_KNOWN;
}

bool rule_cache_way_in(struct rule_cache *c, struct cached_rule *rule, uint64_t entry, uint64_t pc)
{
    if (rule->found || way_in_find(read_code, c->modules, entry, pc, &rule->rule) < 0)
        return false;
    rule->way_out_state = WAY_OUT_KNOWN;
    rule->entry = entry;
    return true;
}

int rule_cache_way_in_from(struct rule_cache *c, uint64_t entry, uint64_t pc, struct rule *ret)
{
    return way_in_find(read_code, c->modules, entry, pc, ret);
}

int rule_cache_usual(struct rule_cache *c, const struct cached_rule *rule, struct rule *ret)
{
    uint64_t at;
    if (!rule->entry)
        return -ENOENT;
    if (map_get(&c->usual_of_entry, rule->entry, &at)) {
        *ret = c->usual[at].rule;
        return c->usual[at].result;
    }
    struct usual usual = {.result = way_in_usual(read_code, c->modules, rule->entry, &usual.rule)};
    c->usual = array_reserve(c->usual, &c->usual_capacity, c->n_usual + 1, sizeof *c->usual);
    map_put(&c->usual_of_entry, rule->entry, c->n_usual);
    c->usual[c->n_usual++] = usual;
    *ret = usual.rule;
    return usual.result;
}

bool rule_cache_is_exit(struct rule_cache *c, struct cached_rule *rule, uint64_t pc)
{
    if (rule->exit_state == EXIT_UNTRIED)
        rule->exit_state = way_is_exit(read_code, c->modules, pc) ? EXIT_KNOWN : EXIT_NONE;
    return rule->exit_state == EXIT_KNOWN;
}

bool rule_cache_is_planted(struct rule_cache *c, struct cached_rule *rule, uint64_t pc)
{
    uint64_t ignored;
    if (rule->planted_state == PLANTED_UNTRIED) {
        bool planted =
            code_call(c->modules, pc, &ignored) == CALL_NONE && rule_cache_is_exit(c, rule, pc);
        rule->planted_state = planted ? PLANTED_KNOWN : PLANTED_NONE;
    }
    return rule->planted_state == PLANTED_KNOWN;
}

static void free_item(struct cached_rule *item)
{
    rule_release(&item->rule);
    free(item);
}

/* Drops all rules but those of KEEP. */
static void sweep(struct rule_cache *c,
                  bool (*keep)(const struct rule_cache *c, const struct cached_rule *item))
{
    size_t kept = 0;
    map_clear(&c->by_addr);
    c->bytes = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct cached_rule *item = c->items[i];
        if (!keep(c, item)) {
            free_item(item);
            continue;
        }
        map_put(&c->by_addr, item->addr, kept);
        c->bytes += bytes_of(item);
        c->items[kept++] = item;
    }
    map_clear(&c->usual_of_entry);
    c->n_usual = 0;
    c->n = kept;
    c->unfound = 0;
    c->n_unmapped = 0;
}

static bool is_mapped_still(const struct rule_cache *c, const struct cached_rule *item)
{
    const struct module *module = item->found ? modules_find(c->modules, item->addr) : NULL;
    return module && module->id == item->module;
}

void rule_cache_maps_changed(struct rule_cache *c)
{
    sweep(c, is_mapped_still);
}

static bool is_by_cfi(const struct rule_cache *c, const struct cached_rule *item)
{
    (void)c;
    return item->found;
}

void rule_cache_maps_same(struct rule_cache *c)
{
    if (c->unfound)
        sweep(c, is_by_cfi);
    c->n_unmapped = 0;
}

static bool is_kept_never(const struct rule_cache *c, const struct cached_rule *item)
{
    (void)c, (void)item;
    return false;
}

void rule_cache_trim(struct rule_cache *c)
{
    if (c->bytes > RULE_CACHE_MAX_BYTES)
        sweep(c, is_kept_never);
}

size_t rule_cache_bytes(const struct rule_cache *c)
{
    return c->bytes;
}

size_t rule_cache_unmapped(const struct rule_cache *c, const uint64_t **ret)
{
    *ret = c->unmapped;
    return c->n_unmapped;
}

void rule_cache_unmapped_known(struct rule_cache *c)
{
    c->n_unmapped = 0;
}

struct rule_cache *rule_cache_free(struct rule_cache *c)
{
    if (!c)
        return NULL;
    for (size_t i = 0; i < c->n; i++)
        free_item(c->items[i]);
    for (size_t i = 0; i < c->n_cfi; i++)
        cfi_free(c->cfi[i]);
    for (size_t i = 0; i < c->n_functions; i++)
        functions_free(c->functions[i]);
    map_release(&c->cfi_of_file);
    map_release(&c->functions_of_file);
    map_release(&c->usual_of_entry);
    free(c->usual);
    free(c->items);
    free(c->cfi);
    free(c->functions);
    map_release(&c->by_addr);
    free(c);
    return NULL;
}
