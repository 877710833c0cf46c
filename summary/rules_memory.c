/* Rules about memory that is elsewhere: on a disk, or on another node of the machine. */
#include "base/clock.h"
#include "base/minmax.h"
#include "summary/kernel_work.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

enum {
    LONGEST_READ_NS = 200 * NS_PER_MS, /* of a page from a slow disk */
    LONGEST_UNSEEN_NS = NS_PER_MS,     /* where samples hardly meet the reads */
};
static const double mostly = 0.5; /* of a group's faults that may be such */

/* ---- from a disk ---- */

static void add_bytes(struct text *words, uint64_t bytes)
{
    if (bytes < 1000000000)
        text_addf(words, "%.0f MB", (double)bytes / 1e6);
    else
        text_addf(words, "%.1f GB", (double)bytes / 1e9);
}

/* A cgroup that is at its limit gives up pages of files that it reads again. */
static bool add_limit(const struct judgement *s, const struct thread_group *group,
                      struct text *words, struct finding *f)
{
    static const double nearly_all = 0.9;
    const struct profile_memory_limit *l =
        &profile_see_process(s->p, group->threads[0]->thread->process)->memory_limit;
    if (!l->reached || (double)l->used_bytes < nearly_all * (double)l->limit_bytes)
        return false;
    add_figure(f, "memory_limit_bytes", (double)l->limit_bytes);
    add_figure(f, "memory_limit_reached", (double)l->reached);
    text_add(words, " Its cgroup may use ");
    add_bytes(words, l->limit_bytes);
    text_add(words, " of memory and ran against that ");
    text_add_thousands(words, (double)l->reached);
    text_addf(words,
              " time%s: the kernel drops its pages and reads them again. Raise the memory "
              "limit.",
              l->reached == 1 ? "" : "s");
    return true;
}

/* Of which disk they come, as far as the machine's counts tell: they are of all programs. */
static void add_source(const struct judgement *s, const struct thread_group *group, double rate,
                       struct text *words, struct finding *f)
{
    if (add_limit(s, group, words, f))
        return;
    const struct profile_machine *m = &profile_see_host(s->p)->machine;
    const struct profile_process *process =
        profile_see_process(s->p, group->threads[0]->thread->process);
    double swapped = rule_per_second(m->swap_ins, s);
    if (!m->swap_known)
        return;
    add_figure(f, "swap_ins_per_s", swapped);
    if (!m->swap_ins) {
        text_add(words, " No swap-ins: the pages are from mapped files.");
    } else if (swapped >= mostly * rate) {
        text_add(words, " The machine swapped in ");
        text_add_thousands(words, swapped);
        text_add(words, " pages a second");
        if (process->swapped_known && process->swapped_last > 0)
            text_addf(words, "; %.1f GB of %s is swapped out", (double)process->swapped_last / 1e9,
                      profile_text(s->p, process->comm));
        text_add(words, ": it lacks memory.");
    }
}

/* Where GROUP waits for pages the most; where no sample found it waiting, where its faults are. */
static bool place_of_faults(const struct judgement *s, struct thread_group *group,
                            struct call_path *ret)
{
    double part;
    return heaviest_in_class(&group->tally, CLASS_PAGE, ret) ||
           rule_path_of(s, group, WEIGHT_FAULTS, TALLY_ALL, ret, &part);
}

/* Samples miss waits that are as short as a fast disk's: unless most were SEEN the kernel's count
 * stands for them. */
static void add_waits(struct thread_group *group, bool seen, double share, double rate,
                      const struct call_path *path, struct text *words)
{
    text_addf(words, "%s %s%s ", group->noun, seen ? "wait" : "take", verb_s(group));
    if (seen) {
        add_percent(words, share);
        text_addf(words, " of %s time for pages from a disk, most ", possessive(group));
        add_place(words, path);
        text_add(words, ": ");
    }
    text_add_thousands(words, rate);
    text_add(words, " major page faults a second");
    if (!seen) {
        text_add(words, ", most ");
        add_place(words, path);
        text_addf(words, ", which block %s for ", group->plural ? "them" : "it");
        add_percent(words, share);
        text_addf(words, " of %s time", possessive(group));
    }
    text_add(words, ".");
}

/* How long GROUP was off the CPU, by the kernel's count, where samples found it on one: its waits
 * were too short. */
static int64_t unseen_waits_ns(const struct thread_group *group)
{
    int64_t ns = group->wall_ns - group->cpu_ns - group->runqueue_ns;
    for (int class = CLASS_IDLE; class < CLASS_KINDS; class ++)
        ns -= group->class_ns[class];
    return max_i64(ns, 0);
}

/* Can N major faults, of LONGEST_NS each at most, be what takes NS, much of GROUP's time?  If there
 * are fewer the waits are for pages that a program serves, or are none. */
static bool explains(const struct thread_group *group, uint64_t n, int64_t longest_ns, int64_t ns)
{
    return share_of(ns, group->wall_ns) >= worth_telling &&
           (double)n * (double)longest_ns >= (double)ns;
}

struct page_facts {
    struct call_path path;
    double rate;
    bool seen; /* most of the waits */
};

void rule_major_faults(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    uint64_t faults = rule_usage_of(group).major_faults;
    struct page_facts facts = {.rate = rule_per_second_of_life(faults, group)};
    int64_t page_ns = group->class_ns[CLASS_PAGE];
    int64_t unseen_ns = unseen_waits_ns(group);
    double share = share_of(page_ns, group->wall_ns);
    double blocked = share_of(page_ns + unseen_ns, group->wall_ns);
    bool unseen = explains(group, faults, LONGEST_UNSEEN_NS, unseen_ns);
    facts.seen = share >= worth_telling && (page_ns >= unseen_ns || !unseen);
    add_figure(f, "share", share);
    add_figure(f, "blocked_share", blocked);
    add_figure(f, "major_faults_per_s", facts.rate);
    f->share = facts.seen ? share : blocked;
    if ((unseen || explains(group, faults, LONGEST_READ_NS, page_ns)) &&
        place_of_faults(s, group, &facts.path))
        finding_applies(f, &facts, sizeof facts);
}

void tell_major_faults(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct page_facts *facts = f->facts;
    add_waits(f->group, facts->seen, f->share, facts->rate, &facts->path, words);
    add_source(s, f->group, facts->rate, words, f);
}

/* ---- from another node ---- */

/* The kernel counts them for the machine alone: that they are this group's is what the equal
 * numbers say, and the sentence says both. */
void rule_numa_balancing(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct profile_usage u = rule_usage_of(group);
    add_figure(f, "numa_faults_per_s", numa_faults_per_s(s->p));
    add_figure(f, "minor_faults_per_s", rule_per_second(u.minor_faults, s));
    f->share = rule_system_share(&u) * share_of(group->cpu_ns, group->wall_ns);
    if (numa_explains(s->p, u.minor_faults))
        finding_applies(f, NULL, 0);
}

void tell_numa_balancing(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct profile_machine *m = &profile_see_host(s->p)->machine;
    text_addf(words, "%s take%s ", f->group->noun, verb_s(f->group));
    text_add_thousands(words, rule_per_second(rule_usage_of(f->group).minor_faults, s));
    text_add(words, " minor page faults a second. Meanwhile the kernel's NUMA balancing caused ");
    text_add_thousands(words, numa_faults_per_s(s->p));
    text_add(words, " on this machine and moved ");
    text_add_thousands(words, rule_per_second(m->numa_moved, s));
    text_add(words,
             " pages a second between nodes: pin it (numactl), or set kernel.numa_balancing=0.");
}
