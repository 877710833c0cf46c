/* What a rule must know of others: verdicts about each group, found before the rules are asked.  No
 * rule asks another one. */
#pragma once

#include "summary/held_wait.h"
#include "summary/rules.h"
#include "summary/stuck.h"
#include "summary/wait_graph.h"

struct group_facts {
    bool in_circle;          /* a thread of it waits in one of the circles, or behind one */
    bool stuck;              /* it is of the process that is stuck */
    struct held_wait locks;  /* its waits for locks */
    enum held_by locks_held; /* held_by_whom() */
    struct held_wait held;   /* of LOCKS and of its waits for ends those that last longer */
    /* What a rule tells about it, so that others do not: */
    bool holder_told; /* for whom its waits HELD are: rule_held() */
    bool tasks_told; /* what the tasks of its event loops wait for: rule_tasks(), rule_executor() */
    bool pauses_told; /* for how long Python's collector keeps it: rule_stalls() */
};
struct facts {
    struct wait_graph circles; /* circles_find() */
    struct stuck stuck;
    struct group_facts *of_groups; /* by group */
};
/* S->facts is not set yet: nothing here may ask for it. */
void facts_init(struct facts *f, const struct judgement *s);
void facts_release(struct facts *f);
/* Of a group of S->g itself, no single thread of one. */
const struct group_facts *facts_about(const struct judgement *s, const struct thread_group *group);
