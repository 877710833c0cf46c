/* Which threads of a flame graph stand together, as text: a line for each group, its figures and
 * threads before a tab, its label behind it.  The groups are made apart, as the findings are,
 * because nothing of what explains may cost the file (cli/explanation.h). */
#pragma once

#include "exporter/exporter.h"
#include "summary/groups.h"

void flame_groups_add(struct text *out, const struct groups *g);

struct flame_group {
    bool idle;
    uint64_t n_threads; /* with those that were folded into one */
    const char *label;
    size_t label_len;
    const char *ids, *ids_end;
};
/* Takes the first line of *LINES, and moves on.  False: there is none, or it makes no sense. */
bool flame_groups_take(const char **lines, struct flame_group *ret);
/* Takes the next of G's threads, one of P; NULL: there is none. */
const struct profile_thread *flame_group_thread(struct flame_group *g, const struct profile *p);

/* The lines for V of P: those of FINDINGS; each thread by itself if the groups could not be made;
 * made here if nobody tried.  The caller frees them. */
char *flame_groups_of(const struct profile *p, struct view *v, const struct thread_summaries *s,
                      const struct export_findings *findings);
