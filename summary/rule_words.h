/* The words and figures of findings.  Private to findings.c, rules_*.c and their helpers. */
#pragma once

#include "summary/path_words.h"
#include "summary/rules.h"

void add_figure(struct finding *f, const char *name, double value);
/* Enough samples for a finding? */
bool is_judged(const struct thread_group *group);
/* " That keeps its event loop (asyncio) from polling.", if GROUP's one thread is at NODE in a
 * callback of a loop that hardly polls.  Of a loop that does rule_event_loop() tells. */
void add_kept_loop(const struct scene *s, const struct thread_group *group, uint32_t node,
                   struct text *out);
/* meaning_of() the wait at NODE, after a space; nothing where there is none. */
void add_meaning(const struct scene *s, uint32_t node, struct text *out);
/* "s" where the noun is one: "waits" */
const char *verb_s(const struct thread_group *group);
/* "its" or "their" */
const char *possessive(const struct thread_group *group);
