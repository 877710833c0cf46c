/* The words and figures of findings: for findings.c, rules_*.c, and whoever tells of a place. */
#pragma once

#include "summary/rules.h"

void add_figure(struct finding *f, const char *name, double value);
/* Enough samples for a finding? */
bool is_judged(const struct thread_group *group);
/* "87%", never "100%" of less than all. */
void add_percent(struct text *out, double share);
/* A function's name, with its line: short enough for a sentence. */
void add_name(struct text *out, const char *part);
/* "in TopK::exec ops.cc:34, called from f a.py:3" */
void add_place(struct text *out, const struct call_path *path);
/* The same of a function that others call, too: ", for longest called from f a.py:3" */
void add_place_longest(struct text *out, const struct call_path *path);
/* "TopK::exec > cudaGetDeviceProperties > ioctl" */
void add_way(struct text *out, const struct call_path *path);
/* The same behind the function OWN, a key of its nodes: nothing if that is the last, or not
 * there. */
void add_way_below(const struct scene *s, struct text *out, const struct call_path *path,
                   uint32_t own);
/* " That keeps its event loop (asyncio) from polling.", if GROUP's one thread is at NODE in a
 * callback of a loop that hardly polls.  Of a loop that does rule_event_loop() tells. */
void add_kept_loop(const struct scene *s, const struct thread_group *group, uint32_t node,
                   struct text *out);
/* meaning_of() the wait at NODE, after a space; nothing where there is none. */
void add_meaning(const struct scene *s, uint32_t node, struct text *out);
/* "6.0 s", "326 ms", "2.1 ms" */
void add_time(struct text *out, int64_t ns);
/* "s" where the noun is one: "waits" */
const char *verb_s(const struct thread_group *group);
/* "its" or "their" */
const char *possessive(const struct thread_group *group);
