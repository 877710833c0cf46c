/* What threads do in a part of their time.  Private to the rules. */
#pragma once

#include "summary/call_path.h"
#include "summary/rules.h"
#include "summary/stalls.h"

/* What most of some time goes into. */
struct doing {
    bool told;              /* else nothing is known that a sentence could have */
    struct call_path path;  /* where */
    int64_t ns;             /* of T's all_ns */
    bool collects;          /* Python's garbage */
    bool odd;               /* it waits for a lock, the GIL, a file, a device */
    const char *meaning;    /* meaning_of() its wait; NULL: it has none */
    const struct run *wait; /* for what a thread has that is known; NULL: there is none */
    struct interval when;   /* of WAIT */
};
/* Of the time that T has of its spans.  The caller releases it. */
struct doing doing_of(const struct judgement *s, struct tally *t);
/* "in handle a.py:3 > read /x", "collecting garbage in handle a.py:3", "in put a.py:9, for mutex db
 * held by refresh, which is then in rebuild a.py:9": of D that is told. */
void doing_add(const struct judgement *s, const struct doing *d, struct text *words);
void doing_release(struct doing *d);

/* " for a condition", " for a mutex held by refresh", " for load to end": what RUN, which ends in
 * NODE, waits for in memory.  Returns whether a thread is named. */
bool add_thing_of(const struct judgement *s, const struct run *run, uint32_t node,
                  struct text *words);
/* " Meanwhile worker is 94% in run > ask.": GROUP's heaviest path within WAITS.  Returns its share
 * of that; 0: there is none, and nothing is written. */
double add_meanwhile(const struct judgement *s, const struct thread_group *group,
                     const struct intervals *waits, struct text *words, struct finding *f);

/* Is NODE Python's collector at work? */
bool node_collects(struct call_tree *t, uint32_t node);
/* T's heaviest path to Python's collector; *RET_NS: its time there in all.  False: none, and
 * nothing is written.  The caller releases the path. */
bool doing_collects(struct tally *t, struct call_path *ret, int64_t *ret_ns);
/* " gc.freeze() makes a collection shorter. …" */
extern const char collector_remedy[];

/* In the longest of STALLS, one by thread of GROUP, which is there.  The caller releases it. */
struct doing doing_in_stall(const struct judgement *s, const struct thread_group *group,
                            const struct stalls *stalls);
/* Is that one a pause of Python's collector, from PAUSE_NS on? */
bool is_pause(const struct judgement *s, const struct thread_group *group,
              const struct stalls *stalls);
/* What a group's threads do while they are not there. */
struct away {
    struct stall longest;
    struct doing stall; /* in the longest, if that is told */
    struct doing rest;  /* in all of that time, if that is told */
    double rest_part;   /* of that time */
};
/* Of GROUP, and if STALLED for how long one is away.  STALLS: one by thread. */
struct away away_of(const struct judgement *s, const struct thread_group *group,
                    const struct stalls *stalls, bool stalled);
bool away_is_told(const struct away *a);
/* " Longest stall: 330 ms in build_report a.py:6. It spends 85% of its other time on that." */
void away_add(const struct judgement *s, const struct thread_group *group, const struct away *a,
              struct text *words);
void away_release(struct away *a);
/* All of these at once. */
void add_away(const struct judgement *s, const struct thread_group *group,
              const struct stalls *stalls, bool stalled, struct text *words);
/* " That keeps its event loop (asyncio) from polling.", if GROUP's one thread is at NODE in a
 * callback of a loop that hardly polls.  Of a loop that does rule_event_loop() tells. */
void add_kept_loop(const struct judgement *s, const struct thread_group *group, uint32_t node,
                   struct text *out);
