/* Why threads wait for a CPU.  Private to rules_cpu.c. */
#pragma once

#include "summary/rules.h"

enum shortage_cause {
    SHORTAGE_UNKNOWN,
    SHORTAGE_OF_CPUS,     /* more threads want one than there are CPUs for them */
    SHORTAGE_QUOTA,       /* of its cgroup */
    SHORTAGE_QUOTA_ABOVE, /* of a cgroup that cannot be seen from here */
    SHORTAGE_STEAL,       /* the hypervisor takes them */
};
struct cpu_shortage {
    enum shortage_cause cause;
    /* The user can lift it: a quota, a hypervisor, an affinity, a nice value, a variable that
     * starts more threads than there are CPUs. */
    bool limited;
    const struct profile_cpu_limits *limits; /* of the process; borrowed */
    const char *variable; /* that starts too many threads; NULL: none, and nothing else */
    const char *value;    /* of it, VALUE_LEN bytes; borrowed */
    size_t value_len;
    double wanted_cpus, others_cpus, stolen_cpus;
    uint32_t cpus; /* that GROUP may use; 0: unknown */
    bool pinned;   /* to fewer than there are */
};
struct cpu_shortage cpu_shortage_of(const struct judgement *s, const struct thread_group *group);
void add_shortage_figures(const struct cpu_shortage *c, struct finding *f);
/* Appends the cause behind "main waits 48% of its time for a CPU": ": its cgroup may use …". */
void add_shortage(const struct judgement *s, const struct thread_group *group,
                  const struct cpu_shortage *c, struct text *words);
/* " They may use 2 CPUs; this recording's threads wanted 3.1, …", where no limit is the cause;
 * nothing where that is unknown. */
void add_wanted_cpus(const struct judgement *s, const struct thread_group *group,
                     const struct cpu_shortage *c, struct text *words);
