/* Times and places of what threads do, for the rules.  Private to the rules and what they use. */
#pragma once

#include "summary/meanwhile.h"
#include "summary/rules.h"

/* The CPU time, by the kernel's count, of the samples that found GROUP spinning. */
int64_t spinning_cpu_ns(const struct judgement *s, const struct thread_group *group);

/* How long GROUP spins, or waits for a CPU where it does, in code that is known to.  Who has no CPU
 * to spin on is found waiting for one. */
int64_t rule_spins_ns(const struct judgement *s, const struct thread_group *group);

/* When THREAD was in one of CLASSES, 1 << enum wait_class, as far as that is exact, to be held
 * against what others do then; the caller releases them. */
struct intervals intervals_of(const struct judgement *s, const struct profile_thread *thread,
                              unsigned classes);
/* Does TEST hold for a frame of the recording?  Where it does not no stack needs a look. */
typedef bool frame_test(const struct shown_frame *f);
bool rule_has_frame(const struct judgement *s, frame_test *test);
bool rule_stack_has(const struct judgement *s, struct spot at, frame_test *test);
/* Has one of T's stacks such a frame? */
bool rule_thread_has(const struct judgement *s, const struct profile_thread *t, frame_test *test);
/* Has every import in Python such a frame as F? */
bool rule_is_import(const struct shown_frame *f);
/* Does F wait for what comes of a task that a pool was given? */
bool rule_is_for_results(const struct shown_frame *f);
/* What THREAD does in the stacks with a frame that TEST holds for, in the states COUNTED,
 * 1 << enum counted. */
struct stack_times {
    struct intervals when; /* the caller releases them */
    int64_t wall_ns, counted_ns;
};
struct stack_times rule_times_of(const struct judgement *s, const struct profile_thread *thread,
                                 unsigned counted, frame_test *test);
/* THREAD's heaviest path in TIMES; false: none.  The caller releases it. */
bool rule_path_in(const struct judgement *s, const struct profile_thread *thread,
                  const struct stack_times *times, struct call_path *ret);
/* Is NODE, which is no wait, in a function that only waits? */
bool rule_is_way_to_wait(const struct call_tree *t, uint32_t node);
/* How long GROUP runs, or waits for a CPU, in functions that only wait. */
int64_t rule_ways_to_waits_ns(const struct judgement *s, struct thread_group *group);
/* How long GROUP is in waits of CLASSES, 1 << enum wait_class, and on its way to them, in the
 * user's function that PATH is in, whoever calls that. */
int64_t rule_waits_in_function(const struct judgement *s, struct thread_group *group,
                               unsigned classes, const struct call_path *path);
/* The heaviest path of the nodes in CLASS, of T's sums; false: none.  The caller releases it. */
bool heaviest_in_class(struct tally *t, enum wait_class class, struct call_path *ret);

/* Where GROUP's threads were in STATES, the heaviest by WEIGHT; its share of that weight.  False:
 * nowhere.  The caller releases the path. */
bool rule_path_of(const struct judgement *s, const struct thread_group *group, enum weight weight,
                  unsigned states, struct call_path *ret, double *ret_share);

/* For how long threads of other groups than GROUP were active, all together. */
int64_t rule_others_active_ns(const struct judgement *s, const struct thread_group *group);
/* Who is busy at work while GROUP is in CLASSES, 1 << enum wait_class: its first thread and its
 * last, which are alike. */
struct meanwhile rule_meanwhile_of(const struct judgement *s, const struct thread_group *group,
                                   unsigned classes);
/* Faults, switches and CPU time of GROUP's threads, by the kernel's counters. */
struct profile_usage rule_usage_of(const struct thread_group *group);
double rule_system_share(const struct profile_usage *usage);   /* of its CPU time */
double rule_per_second(uint64_t n, const struct judgement *s); /* of the recording */
/* The CPUs that those children of P used that are not recorded, as far as a list of processes found
 * them. */
double rule_unrecorded_cpus(const struct judgement *s, const struct profile_process *p);
/* The time from the beginning of GROUP's first thread to the end of its last. */
int64_t rule_life_ns(const struct thread_group *group);
double rule_per_second_of_life(uint64_t n, const struct thread_group *group);
