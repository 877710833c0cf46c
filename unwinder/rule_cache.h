/* pc → rule, built on first use.  Addresses that no CFI covers are remembered as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"
#include "target/modules.h"
#include "unwinder/file_rules.h"
#include "unwinder/rule.h"

struct cached_rule {
    uint64_t addr;             /* the look-up address: pc, or return address − 1 */
    const struct rule *rule;   /* never NULL; empty unless found, or a way out is known */
    struct file_rule *of_file; /* that RULE is, or is a copy of; NULL: it is OWN, or empty */
    struct rule *own;          /* this address's alone */
    bool is_shared;            /* another process, or place, had built the rule */
    uint64_t function;         /* where its FDE starts; 0 unknown */
    uint64_t function_bytes;   /* at most */
    uint32_t module;           /* its id, if found */
    bool found;                /* by CFI, or by what the code is known to be */
    bool at_entry;             /* not found, but where a process begins */
    uint64_t entry;    /* the function's start by a symbol or a call, if not by CFI; 0: unknown */
    uint64_t begin;    /* the same as it seems, for names: functions_begin() */
    bool entry_sought; /* by rule_cache_find_entry() */
    uint8_t entries_tried; /* by walk_by_code() */
    enum { EXIT_UNTRIED, EXIT_NONE, EXIT_KNOWN } exit_state;
    enum { PLANTED_UNTRIED, PLANTED_NONE, PLANTED_KNOWN } planted_state;
    enum { INSN_RULE_UNTRIED, INSN_RULE_NONE, INSN_RULE_KNOWN } insn_state;
    enum { PROLOGUE_UNTRIED, PROLOGUE_NONE, PROLOGUE_KNOWN } prologue_state;
    struct prologue prologue; /* the function's; walk_recover_fp()'s cache */
};

struct rule_cache;
struct rule_cache *rule_cache_new(struct modules *modules); /* borrows */
/* Never NULL; valid until one of the functions below drops rules.  HIT: it was there already. */
struct cached_rule *rule_cache_find(struct rule_cache *c, uint64_t addr, bool *hit);
/* Fills RULE's entry and begin, if no CFI says where the function begins. */
void rule_cache_find_entry(struct rule_cache *c, struct cached_rule *rule);
/* Does RULE, which was found for PC, have a rule: by CFI, or else by the instructions from PC on
 * (insn_unwind.h)? */
bool rule_cache_insn_unwind(struct rule_cache *c, struct cached_rule *rule, uint64_t pc);
/* insn_unwind_from_entry() in the target's code. */
int rule_cache_insn_from_entry(struct rule_cache *c, uint64_t entry, uint64_t pc, struct rule *ret);
/* Keeps FROM_ENTRY, which that found from ENTRY and which led to a caller, as RULE's rule. */
void rule_cache_keep_from_entry(struct rule_cache *c, struct cached_rule *rule, uint64_t entry,
                                const struct rule *from_entry);
/* The rule that is usual in RULE's function.  For code of a known entry that neither CFI nor a
 * path from the entry covers.  Returns 0 or -ENOENT. */
int rule_cache_usual(struct rule_cache *c, const struct cached_rule *rule, struct rule *ret);
/* Does the code at the return address PC, whose rule RULE is, only end the thread
 * (insn_unwind_is_exit())? */
bool rule_cache_is_exit(struct rule_cache *c, struct cached_rule *rule, uint64_t pc);
/* Is that so, and does PC follow no call?  Then the code that made the stack planted PC there:
 * coroutines' stacks end so. */
bool rule_cache_is_planted(struct rule_cache *c, struct cached_rule *rule, uint64_t pc);
/* Drops the rules of code that is no longer mapped, or was mapped anew. */
void rule_cache_maps_changed(struct rule_cache *c);
/* The maps were read again and had not changed.  Addresses that were not mapped still are not.
 * Drops all that no CFI covers: most are of words that are no return addresses, and code that
 * no file holds may have been written anew. */
void rule_cache_maps_same(struct rule_cache *c);
/* How many addresses were asked for, first since the maps were read, that lie in no known
 * mapping of code.  *RET: the first RULE_CACHE_UNMAPPED of them. */
enum { RULE_CACHE_UNMAPPED = 8 };
size_t rule_cache_unmapped(const struct rule_cache *c, const uint64_t **ret);
/* These addresses are mapped nowhere, as was found in another way. */
void rule_cache_unmapped_known(struct rule_cache *c);
/* Drops all rules if they take more than RULE_CACHE_MAX_BYTES.  One stack adds a few thousand at
 * most. */
enum { RULE_CACHE_MAX_BYTES = 1 << 26 };
void rule_cache_trim(struct rule_cache *c);
size_t rule_cache_bytes(const struct rule_cache *c); /* that the rules take */
struct rule_cache *rule_cache_free(struct rule_cache *c);
