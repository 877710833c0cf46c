#include "unwinder/rule_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "unwinder/code.h"
#include "unwinder/insn_unwind.h"

/* insn_unwind_usual() of a function. */
struct usual {
    struct rule rule;
    int result;
};

struct rule_cache {
    struct modules *modules;
    struct map by_addr; /* to the index in items */
    struct cached_rule **items;
    size_t n, capacity;
    struct map usual_of_entry; /* to the index in usual */
    struct usual *usual;
    size_t n_usual, usual_capacity;
    size_t bytes;   /* of the items, and of their rules */
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

static size_t bytes_of(const struct cached_rule *item)
{
    bool has_rule = item->of_file || item->own;
    return sizeof *item + (has_rule ? sizeof *item->rule : 0);
}

static void drop_rule(struct cached_rule *item)
{
    static const struct rule empty;
    item->of_file = file_rule_drop(item->of_file);
    free(item->own);
    item->own = NULL;
    item->rule = &empty;
}

/* RULE is taken over. */
static void set_own_rule(struct cached_rule *item, struct rule rule)
{
    drop_rule(item);
    item->own = xmalloc(sizeof *item->own);
    *item->own = rule;
    item->rule = item->own;
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
    struct functions *functions = file_rules_functions(file_rules_of(elf));
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

/* _start of the dynamic linker, of musl and of others has no CFI: some 60 bytes. */
static bool is_at_entry(const struct rule_cache *c, struct module *module, uint64_t addr)
{
    enum { ENTRY_BYTES = 64 };
    struct elf_file *elf = module_elf(c->modules, module);
    uint64_t entry = elf ? elf_file_entry(elf) : 0;
    return entry && addr - module->bias - entry < ENTRY_BYTES;
}

/* Only expressions depend on where the code is mapped.  Their bytes are the file's. */
static void move_rule(struct cached_rule *item, uint64_t bias)
{
    item->own = xmalloc(sizeof *item->own);
    *item->own = item->of_file->rule;
    item->own->bias = bias;
    item->rule = item->own;
}

static void find_by_cfi(struct rule_cache *c, struct cached_rule *item, struct module *module)
{
    struct elf_file *elf = module_elf(c->modules, module);
    if (elf)
        item->of_file =
            file_rules_take(file_rules_of(elf), item->addr - module->bias, &item->is_shared);
    if (!item->of_file)
        return;
    const struct addr_range *function = &item->of_file->function;
    item->found = true;
    item->rule = &item->of_file->rule;
    item->function = function->len ? function->start + module->bias : 0;
    item->function_bytes = function->len;
    if (item->rule->has_expressions)
        move_rule(item, module->bias);
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
    item->module = module->id;
    find_by_cfi(c, item, module);
    if (item->found && item->rule->is_signal)
        return;
    /* musl's signal trampoline has no CFI.  Go's has one that does not say what it is. */
    if (code_is_sigreturn(c->modules, item->addr)) {
        item->found = true;
        set_own_rule(item, rule_sigreturn());
    } else if (!item->found && code_is_clone_return(c->modules, item->addr)) {
        item->found = true;
        set_own_rule(item, rule_clone_return());
    } else if (!item->found) {
        item->at_entry = is_at_entry(c, module, item->addr);
    }
}

struct cached_rule *rule_cache_find(struct rule_cache *c, uint64_t addr, bool *hit)
{
    uint64_t at;
    *hit = map_get(&c->by_addr, addr, &at);
    if (*hit)
        return c->items[at];
    struct cached_rule *item = xcalloc(1, sizeof *item);
    item->addr = addr;
    drop_rule(item); /* there is none yet */
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

static void keep_insn_rule(struct rule_cache *c, struct cached_rule *item, const struct rule *way)
{
    c->bytes -= bytes_of(item);
    set_own_rule(item, *way);
    item->insn_state = INSN_RULE_KNOWN;
    c->bytes += bytes_of(item);
}

bool rule_cache_insn_unwind(struct rule_cache *c, struct cached_rule *rule, uint64_t pc)
{
    if (rule->found || rule->insn_state == INSN_RULE_KNOWN)
        return true;
    if (rule->insn_state == INSN_RULE_UNTRIED)
        rule_cache_find_entry(c, rule);
    if (rule->insn_state == INSN_RULE_UNTRIED) {
        struct rule way;
        rule->insn_state = INSN_RULE_NONE;
        if ((rule->entry && rule_cache_insn_from_entry(c, rule->entry, pc, &way) == 0) ||
            insn_unwind_to_return(read_code, c->modules, pc, &way) == 0)
            keep_insn_rule(c, rule, &way);
    }
    return rule->insn_state == INSN_RULE_KNOWN;
}

void rule_cache_keep_from_entry(struct rule_cache *c, struct cached_rule *rule, uint64_t entry,
                                const struct rule *from_entry)
{
    rule->entry = entry;
    keep_insn_rule(c, rule, from_entry);
}

int rule_cache_insn_from_entry(struct rule_cache *c, uint64_t entry, uint64_t pc, struct rule *ret)
{
    return insn_unwind_from_entry(read_code, c->modules, entry, pc, ret);
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
    struct usual usual = {.result =
                              insn_unwind_usual(read_code, c->modules, rule->entry, &usual.rule)};
    c->usual = array_reserve(c->usual, &c->usual_capacity, c->n_usual + 1, sizeof *c->usual);
    map_put(&c->usual_of_entry, rule->entry, c->n_usual);
    c->usual[c->n_usual++] = usual;
    *ret = usual.rule;
    return usual.result;
}

bool rule_cache_is_exit(struct rule_cache *c, struct cached_rule *rule, uint64_t pc)
{
    if (rule->exit_state == EXIT_UNTRIED)
        rule->exit_state = insn_unwind_is_exit(read_code, c->modules, pc) ? EXIT_KNOWN : EXIT_NONE;
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
    drop_rule(item);
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
    map_release(&c->usual_of_entry);
    free(c->usual);
    free(c->items);
    map_release(&c->by_addr);
    free(c);
    return NULL;
}
