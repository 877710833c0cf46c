/* The parts that the rules of findings.c share.  Private to findings.c and rules_*.c. */
#pragma once

#include "base/share.h"
#include "summary/findings.h"
#include "summary/holders.h"
#include "summary/wait_graph.h"

/* The input of a rule. */
struct scene {
    const struct groups *g;
    const struct profile *p;
    struct holders *holders;
    int64_t wall_ns; /* of the recording */
    struct thread_group
        *lead; /* the group of the main thread that the user waits for; NULL: none */
};
/* Judges GROUP (NULL: everything): sets the figures, and the words and the weight if it applies. */
typedef void rule_judge(const struct scene *s, struct thread_group *group, struct finding *ret);

/* rules_peers.c */
rule_judge rule_only_children, rule_differs, rule_none_ran;
/* rules_held.c */
rule_judge rule_deadlock, rule_circular_wait, rule_held;
/* rules_starts.c */
rule_judge rule_starts;
/* rules_stuck.c */
rule_judge rule_stuck;
/* rules_tasks.c */
rule_judge rule_tasks;
/* rules_waits.c */
rule_judge rule_waits_meanwhile, rule_gil, rule_waits;
/* rules_files.c */
rule_judge rule_files;
/* rules_locks.c */
rule_judge rule_malloc_arena;
/* rules_contention.c */
rule_judge rule_contention;
/* rules_cpu.c */
rule_judge rule_cpu_wait, rule_computes, rule_collects;
/* rules_imports.c */
rule_judge rule_imports;
/* rules_faults.c */
rule_judge rule_page_faults, rule_switches;
/* rules_memory.c */
rule_judge rule_numa_balancing, rule_major_faults;
/* rules_messages.c */
rule_judge rule_messages;
/* rules_openmp.c */
rule_judge rule_openmp_runtimes;
/* rules_spinning.c */
rule_judge rule_spinning;
/* rules_loop.c */
rule_judge rule_event_loop;

/* The holder of the locks that GROUP waits for, where it waits for locks more than for anything
 * else and the holder was read in most of that time. */
enum held_by { HELD_UNKNOWN, HELD_BY_ONE, HELD_BY_SEVERAL };
enum held_by holder_of_locks(const struct scene *s, const struct thread_group *group);
/* Does a thread of GROUP wait in a circle, or behind one, that rule_deadlock() or
 * rule_circular_wait() finds? */
bool rule_finds_circle_of(const struct scene *s, const struct thread_group *group);

/* Are GROUP's minor faults those of the kernel's NUMA balancing? */
bool rule_numa_explains(const struct scene *s, const struct thread_group *group);
/* Does GROUP run the event loop of tasks of which rule_tasks() finds? */
bool rule_finds_tasks_of(const struct scene *s, const struct thread_group *group);
/* Is GROUP of the process of which rule_stuck() finds? */
bool rule_finds_stuck_of(const struct scene *s, const struct thread_group *group);

/* " It waits for its child 4711 (sleep).": whom or what GROUP's waits at NODE are for, where the
 * kernel showed most of their time.  NAMED: the words have the wait's name, with an address in it.
 * Returns whether it added something. */
bool add_kernel_side(const struct scene *s, const struct thread_group *group, uint32_t node,
                     bool named, struct text *words, struct finding *f);

/* ---- what a thread does, by what its stack ends in ---- */

enum wait_class {
    CLASS_NONE,     /* it runs, or waits for a CPU */
    CLASS_SPIN,     /* it runs, but only waits */
    CLASS_IDLE,     /* for work: in a known pool, in the poll of an event loop */
    CLASS_SLEEP,    /* for time to pass */
    CLASS_ORDINARY, /* for somebody: a lock, a message, a child */
    CLASS_GIL,
    CLASS_FILE,    /* in a call on a file */
    CLASS_PAGE,    /* in a page fault */
    CLASS_UNUSUAL, /* in any other call: a driver, a full pipe */
    CLASS_STOPPED,
};
enum wait_class class_of_node(const struct call_tree *t, uint32_t node);
enum wait_class class_of_run(struct call_tree *t, const struct run *run);
/* By what a wait of GROUP is scaled down to the kernel's count, where samples find it off the CPU
 * for longer than the kernel counts; else 1. */
double off_cpu_scale(const struct thread_group *group);
/* By what GROUP's time on a CPU and waiting for one is scaled to the kernel's count of both. */
double active_scale(const struct thread_group *group);
/* The time of GROUP in CLASS, by samples; waits are scaled. */
int64_t class_ns(const struct scene *s, const struct thread_group *group, enum wait_class class);
/* Is NODE in a function of the user's? */
bool is_in_own_code(const struct scene *s, uint32_t node);
bool is_busy_class(enum wait_class class, const struct run *run);

/* ALL with the time of RUN behind its N intervals: grown, as array_reserve(). */
struct interval *interval_add(struct interval *all, size_t *n, size_t *capacity,
                              const struct run *run);
/* When THREAD was in one of CLASSES, 1 << enum wait_class; the caller frees it. */
struct interval *intervals_of(const struct scene *s, const struct profile_thread *thread,
                              unsigned classes, size_t *ret_n);
/* What THREAD does in the stacks that TEST holds for, in the states COUNTED (1 << enum counted). */
typedef bool stack_test(const struct shown_frame *stack, size_t n);
struct stack_times {
    struct interval *items; /* the caller frees them */
    size_t n, capacity;
    int64_t wall_ns, counted_ns;
};
struct stack_times rule_times_of(const struct scene *s, const struct profile_thread *thread,
                                 unsigned counted, stack_test *test);
/* THREAD's heaviest path in TIMES; false: none.  The caller releases it. */
bool rule_path_in(const struct scene *s, const struct profile_thread *thread,
                  const struct stack_times *times, struct call_path *ret);
/* The heaviest path of the nodes in CLASS, of T's sums; false: none.  The caller releases it. */
bool heaviest_in_class(const struct scene *s, struct tally *t, enum wait_class class,
                       struct call_path *ret);

/* Where GROUP's threads were in STATES, the heaviest by WEIGHT; its share of that weight.  False:
 * nowhere.  The caller releases the path. */
bool rule_path_of(const struct scene *s, const struct thread_group *group, enum weight weight,
                  unsigned states, struct call_path *ret, double *ret_share);

/* Faults, switches and CPU time of GROUP's threads, by the kernel's counters. */
struct profile_usage rule_usage_of(const struct thread_group *group);
double rule_per_second(uint64_t n, const struct scene *s);

/* ---- words ---- */

void add_figure(struct finding *f, const char *name, double value);
/* Enough samples for a finding? */
bool is_judged(const struct thread_group *group);
/* "87%", never "100%" of less than all. */
void add_percent(struct text *out, double share);
/* "in TopK::exec ops.cc:34, called from f a.py:3" */
void add_place(struct text *out, const struct call_path *path);
/* "TopK::exec > cudaGetDeviceProperties > ioctl" */
void add_way(struct text *out, const struct call_path *path);
/* " That keeps its event loop (asyncio) from polling.", if GROUP's one thread is at NODE in a
 * callback of a loop that hardly polls.  Of a loop that does rule_event_loop() tells. */
void add_kept_loop(const struct scene *s, const struct thread_group *group, uint32_t node,
                   struct text *out);
/* What a wait at NODE means, where its function's name does not say so: at the end of Python's main
 * thread, in SQLite.  NULL for others.  add_meaning() adds that, after a space. */
const char *meaning_of(const struct scene *s, uint32_t node);
void add_meaning(const struct scene *s, uint32_t node, struct text *out);
/* "6.0 s", "326 ms", "2.1 ms" */
void add_time(struct text *out, int64_t ns);
/* "s" where the noun is one: "waits" */
const char *verb_s(const struct thread_group *group);
/* "its" or "their" */
const char *possessive(const struct thread_group *group);
