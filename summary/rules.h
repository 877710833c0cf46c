/* The input of the rules of findings.c, and their list.  Private to findings.c, rules_*.c and what
 * these use. */
#pragma once

#include "base/share.h"
#include "summary/findings.h"
#include "summary/holders.h"
#include "summary/wait_class.h"

struct slow_code; /* slow_code.h */
struct slow_told;
struct facts; /* group_facts.h */
/* Of its group's time: what takes less is not worth a sentence.  One for all rules: which of their
 * findings are printed the ranking decides, by seconds. */
static const double worth_telling = 0.1;
/* The input of a rule: what is judged. */
struct judgement {
    const struct groups *g;
    const struct profile *p;
    struct holders *holders;
    const struct slow_code *slow;
    struct slow_told *told; /* by the findings that stand before the one that is told */
    const struct facts *facts;
    int64_t wall_ns;           /* of the recording */
    struct thread_group *lead; /* whose time the user misses; NULL: nobody's */
};
/* Judges GROUP (NULL: everything): sets the share and the figures, and if it applies that, whom it
 * is about, and the facts that its words tell.  It makes no words. */
typedef void rule_judge(const struct judgement *s, struct thread_group *group, struct finding *ret);
/* Makes the words of F, which the same rule judged to apply, of its group and facts.  It may add
 * figures that stand in the words, and sets nothing else: the ranking is done. */
typedef void rule_tell(const struct judgement *s, struct finding *f, struct text *words);
/* Releases what FACTS owns, not FACTS itself. */
typedef void rule_release(void *facts);

/* Is there anything that the rule could apply to?  Asked before it judges thread by thread. */
typedef bool rule_may(const struct judgement *s);

/* rules_peers.c */
rule_judge rule_only_children, rule_differs;
rule_tell tell_only_children, tell_differs;
/* rules_circle.c */
rule_judge rule_deadlock, rule_circular_wait;
rule_tell tell_circle;
/* rules_held.c */
rule_judge rule_held;
rule_tell tell_held;
rule_release release_held;
/* rules_starts.c */
rule_judge rule_starts;
rule_tell tell_starts;
rule_may rule_may_see_starts;
/* rules_stuck.c */
rule_judge rule_stuck;
rule_tell tell_stuck;
/* rules_standstill.c */
rule_judge rule_stopped, rule_none_ran;
rule_tell tell_stopped, tell_none_ran;
/* rules_tasks.c */
rule_judge rule_tasks;
rule_tell tell_tasks;
rule_may rule_may_see_tasks;
/* rules_executor.c */
rule_judge rule_executor;
rule_tell tell_executor;
/* rules_exhausted.c */
rule_judge rule_exhausted;
rule_tell tell_exhausted;
rule_release release_exhausted;
/* rules_uneven.c */
rule_judge rule_uneven;
rule_tell tell_uneven;
rule_release release_uneven;
/* rules_meanwhile.c */
rule_judge rule_waits_meanwhile;
rule_tell tell_waits_meanwhile;
rule_release release_waits_meanwhile;
/* rules_waits.c */
rule_judge rule_waits, rule_waits_for_lock;
rule_tell tell_waits;
rule_release release_waits;
/* rules_gil.c */
rule_judge rule_gil;
rule_tell tell_gil;
rule_release release_gil;
/* rules_polls.c */
rule_judge rule_polls;
rule_tell tell_polls;
rule_release release_polls;
/* rules_files.c */
rule_judge rule_files;
rule_tell tell_files;
rule_release release_files;
/* rules_locks.c */
rule_judge rule_malloc_arena, rule_libc_lock;
rule_tell tell_malloc_arena, tell_libc_lock;
/* rules_contention.c */
rule_judge rule_contention;
rule_tell tell_contention;
rule_release release_contention;
/* rules_cpu.c */
rule_judge rule_cpu_wait, rule_computes, rule_collects;
rule_tell tell_cpu_wait, tell_computes, tell_collects;
rule_release release_computes;
/* rules_imports.c */
rule_judge rule_imports;
rule_tell tell_imports;
rule_release release_imports;
/* rules_faults.c */
rule_judge rule_page_faults, rule_switches;
rule_tell tell_page_faults, tell_switches;
/* rules_memory.c */
rule_judge rule_numa_balancing, rule_major_faults;
rule_tell tell_numa_balancing, tell_major_faults;
/* rules_messages.c */
rule_judge rule_messages;
rule_tell tell_messages;
/* rules_connect.c */
rule_judge rule_connect;
rule_tell tell_connect;
/* rules_openmp.c */
rule_judge rule_openmp_runtimes;
rule_tell tell_openmp_runtimes;
/* rules_spinning.c */
rule_judge rule_spinning;
rule_tell tell_spinning;
rule_release release_spinning;
/* rules_stalls.c */
rule_judge rule_stalls;
rule_tell tell_stalls;
rule_release release_stalls;
/* rules_loop.c */
rule_judge rule_event_loop, rule_ready_loop;
rule_tell tell_event_loop, tell_ready_loop;
rule_release release_event_loop, release_ready_loop;
rule_may rule_may_see_loops;
