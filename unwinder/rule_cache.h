/* pc → rule, built on first use.  What no CFI covers is remembered as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/modules.h"
#include "unwinder/insn.h"
#include "unwinder/rule.h"

struct cached_rule {
    uint64_t addr;           /* the look-up address: pc, or return address − 1 */
    struct rule rule;        /* if found, or a way out is known */
    uint64_t function;       /* where its FDE starts; 0 unknown */
    uint64_t function_bytes; /* at most */
    uint32_t module;         /* its id, if found */
    bool found;              /* by CFI, or by what the code is known to be */
    bool at_entry;           /* not found, but where a process begins */
    uint64_t entry;    /* the function's start by a symbol or a call, if not by CFI; 0: unknown */
    uint64_t begin;    /* the same as it seems, for names: functions_begin() */
    bool entry_sought; /* by rule_cache_find_entry() */
    uint8_t entries_tried; /* by walk_by_code() */
    enum { EXIT_UNTRIED, EXIT_NONE, EXIT_KNOWN } exit_state;
    enum { PLANTED_UNTRIED, PLANTED_NONE, PLANTED_KNOWN } planted_state;
    enum { WAY_OUT_UNTRIED, WAY_OUT_NONE, WAY_OUT_KNOWN } way_out_state;
    enum { PROLOGUE_UNTRIED, PROLOGUE_NONE, PROLOGUE_KNOWN } prologue_state;
    struct prologue prologue; /* the function's; walk_recover()'s cache */
};

struct rule_cache;
struct rule_cache *rule_cache_new(struct modules *modules); /* borrows */
/* Never NULL; valid until one of the functions below that drop rules.  HIT tells whether it was there already. */
struct cached_rule *rule_cache_find(struct rule_cache *c, uint64_t addr, bool *hit);
/* Fills RULE's entry and begin, if no CFI says where the function begins. */
void rule_cache_find_entry(struct rule_cache *c, struct cached_rule *rule);
/* Is RULE there, by CFI or else by a way out of the code from PC on (way_out.h)?  RULE is what was found
 * for PC. */
bool rule_cache_way_out(struct rule_cache *c, struct cached_rule *rule, uint64_t pc);
/* The same by the way in from ENTRY, which is kept if it leads to PC. */
bool rule_cache_way_in(struct rule_cache *c, struct cached_rule *rule, uint64_t entry, uint64_t pc);
/* way_in_find() in the target's code. */
int rule_cache_way_in_from(struct rule_cache *c, uint64_t entry, uint64_t pc, struct rule *ret);
/* The rule that is usual in RULE's function, if its entry is known and no CFI nor way in covers it.
 */
int rule_cache_usual(struct rule_cache *c, const struct cached_rule *rule, struct rule *ret);
/* Does code at the return address PC, whose rule RULE is, do nothing but end the thread
 * (way_is_exit())? */
bool rule_cache_is_exit(struct rule_cache *c, struct cached_rule *rule, uint64_t pc);
/* Is that so, and PC behind no call?  Then it was put on the stack by who made the stack:
 * coroutines' have such an end. */
bool rule_cache_is_planted(struct rule_cache *c, struct cached_rule *rule, uint64_t pc);
/* Drops the rules of code that is no longer mapped, or was mapped anew. */
void rule_cache_maps_changed(struct rule_cache *c);
/* They were read again: what was not mapped is not.  Drops all that no CFI covers: most are return addresses that were
 * none, and code that no file holds may be written anew. */
void rule_cache_maps_same(struct rule_cache *c);
/* How many addresses in no known mapping of code were asked for first since the maps were read; *RET: the first
 * RULE_CACHE_UNMAPPED of them. */
enum { RULE_CACHE_UNMAPPED = 8 };
size_t rule_cache_unmapped(const struct rule_cache *c, const uint64_t **ret);
/* They are mapped nowhere, as was found in another way. */
void rule_cache_unmapped_known(struct rule_cache *c);
/* Drops all rules if they take more than RULE_CACHE_MAX_BYTES.  Of no stack's more than a few thousand are new. */
enum { RULE_CACHE_MAX_BYTES = 1 << 26 };
void rule_cache_trim(struct rule_cache *c);
size_t rule_cache_bytes(const struct rule_cache *c); /* that the rules take */
struct rule_cache *rule_cache_free(struct rule_cache *c);
