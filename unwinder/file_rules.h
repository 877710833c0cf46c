/* What unwinding needs to know of one ELF file: its CFI, its functions, and the rules that were
 * built so far.  None of it depends on the process that maps the file, or on the address where
 * it is mapped.  So it is kept with the file (elf_file_extra()), and processes share it. */
#pragma once

#include "target/elf_file.h"
#include "unwinder/functions.h"
#include "unwinder/rule.h"

struct file_rules;

/* One address's rule by CFI. */
struct file_rule {
    struct rule rule;           /* as for code mapped where the file says: its bias is 0 */
    struct addr_range function; /* ELF addresses; {0, 0}: unknown */
    uint64_t elf_addr;
    size_t users; /* uses without a file_rule_drop() so far */
    struct file_rules *rules;
};

/* Never NULL; valid as long as F. */
struct file_rules *file_rules_of(struct elf_file *f);
/* The rule at ELF_ADDR for another user, who drops it.  RET_KNOWN: somebody uses it already.
 * NULL: no CFI covers ELF_ADDR. */
struct file_rule *file_rules_take(struct file_rules *r, uint64_t elf_addr, bool *ret_known);
/* The last user of RULE frees it.  NULL is fine; returns NULL. */
struct file_rule *file_rule_drop(struct file_rule *rule);
/* Of the file; read when first asked for. */
struct functions *file_rules_functions(struct file_rules *r);
