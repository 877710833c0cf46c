/* The threads of a recording that --thread and --process choose. */
#pragma once

#include "cli/options.h"
#include "summary/findings.h"

/* Which processes of P are asked for, for struct view_options; NULL: all.  The caller frees it. */
bool *chosen_processes(const struct options *o, const struct profile *p);
/* Is T asked for?  As record's --thread, by the name that is shown, too. */
bool chosen_thread(const struct options *o, const struct profile *p,
                   const struct thread_summary *t);
/* Leaves those in S that are asked for. */
void chosen_keep(const struct options *o, const struct profile *p, struct thread_summaries *s);
/* The first of them, in the answer's order; false: there is none. */
bool chosen_first(const struct options *o, const struct profile *p, pid_t *ret_tid);

/* Of G the groups that have a thread that is asked for, and of F what is about them, or blames
 * them.  Borrows both. */
struct chosen_answer {
    struct groups groups;
    struct findings findings;
};
void chosen_answer_init(struct chosen_answer *ret, const struct options *o, const struct groups *g,
                        const struct findings *f);
void chosen_answer_release(struct chosen_answer *a);
