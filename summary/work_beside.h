/* What a group runs beside the wait that a sentence is about.  Private to the rules. */
#pragma once

#include "summary/rules.h"

/* " watcher runs 38% of its time, mainly in scan a.py:5 > fstatat.": GROUP, if it runs for a tenth
 * of its time or longer and does not only spin then.  Then what is known of slow code there, unless
 * the wait that the sentence is about, at WAITS_AT, has a meaning of its own. */
void add_work_beside(const struct judgement *s, struct thread_group *group, uint32_t waits_at,
                     struct text *words, struct finding *f);
