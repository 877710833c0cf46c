/* The words and figures of findings.  Private to findings.c, rules_*.c and their helpers. */
#pragma once

#include "summary/path_words.h"
#include "summary/rules.h"

void add_figure(struct finding *f, const char *name, double value);
/* F applies, and its words tell FACTS, BYTES long, which are copied.  NULL, 0: its group is
 * enough. */
void finding_applies(struct finding *f, const void *facts, size_t bytes);
/* For facts that begin with a struct call_path, which is all that they own. */
rule_release release_path;
/* Enough samples for a finding? */
bool is_judged(const struct thread_group *group);
/* "main waits 79% of its time": VERB "wait" */
void add_opening(const struct thread_group *group, const char *verb, double share,
                 struct text *words);
/* The same, and ", 48%" where HERE, of what follows, is not most of SHARE. */
void add_opening_part(const struct thread_group *group, const char *verb, double share, double here,
                      struct text *words);
/* " They run one after the other: 1.0 at a time.", if so do GROUP's threads, which are many: who
 * starts one and waits for its end at once could do its work itself. */
void add_in_turn(const struct judgement *s, const struct thread_group *group, struct text *words);
/* meaning_of() the wait at NODE, after a space; nothing where there is none. */
void add_meaning(const struct judgement *s, uint32_t node, struct text *out);
/* interrupted_words() of RUN's stack, after a space; nothing where there are none. */
void add_interrupted(const struct judgement *s, const struct run *run, struct text *out);
/* "Both threads", "All 5 threads" */
void add_all_threads(size_t n, struct text *words);
/* "s" where the noun is one: "waits" */
const char *verb_s(const struct thread_group *group);
/* "its" or "their" */
const char *possessive(const struct thread_group *group);
/* Did process PID, a recorded one, live when the recording ended?  Else no command looks at it. */
bool rule_goes_on(const struct profile *p, pid_t pid);
