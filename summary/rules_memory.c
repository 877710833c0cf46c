/* Rules about memory that is elsewhere: on a disk, or on another node of the machine. */
#include "base/clock.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double many_major = 50;    /* faults a second, where threads wait for them */
static const double page_share = 0.1;   /* of the time in these waits, or else: */
static const double storm_major = 1000; /* they came so fast that few waits were seen */
static const double many_moves = 2000;  /* faults a second of NUMA balancing */
static const double mostly = 0.5;       /* of a group's faults that may be such */

/* ---- from a disk ---- */

/* Of which disk they come, as far as the machine's counts tell: they are of all programs. */
static void add_source(const struct scene *s, const struct thread_group *group, double rate,
                       struct text *words, struct finding *f)
{
    const struct profile_machine *m = &profile_see_host(s->p)->machine;
    const struct profile_process *process =
        profile_see_process(s->p, group->threads[0]->thread->process);
    double swapped = rule_per_second(m->swap_ins, s);
    if (!m->swap_known)
        return;
    add_figure(f, "swap_ins_per_s", swapped);
    if (!m->swap_ins) {
        text_add(words, " Nothing was swapped in: they are of mapped files.");
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
static bool place_of_faults(const struct scene *s, struct thread_group *group,
                            struct call_path *ret)
{
    double part;
    return heaviest_in_class(&group->tally, CLASS_PAGE, ret) ||
           rule_path_of(s, group, WEIGHT_FAULTS, TALLY_ALL, ret, &part);
}

/* Samples miss waits that are as short as a fast disk's: the kernel's count stands for them. */
static void add_waits(struct thread_group *group, double share, double blocked, double rate,
                      const struct call_path *path, struct text *words)
{
    bool seen = share >= page_share;
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
        text_addf(words, ", and %s blocked ", group->plural ? "are" : "is");
        add_percent(words, blocked);
        text_addf(words, " of %s time", possessive(group));
    }
    text_add(words, ".");
}

void rule_major_faults(const struct scene *s, struct thread_group *group, struct finding *f)
{
    double rate = rule_per_second(rule_usage_of(group).major_faults, s);
    double share = share_of(class_ns(s, group, CLASS_PAGE), group->wall_ns);
    double blocked = share_of(group->wall_ns - group->cpu_ns - group->runqueue_ns, group->wall_ns);
    struct call_path path;
    add_figure(f, "share", share);
    add_figure(f, "blocked_share", blocked);
    add_figure(f, "major_faults_per_s", rate);
    f->weight = (share < page_share ? blocked : share) * (group->leads ? 1 : 0.7);
    if (rate < many_major || (share < page_share && rate < storm_major) ||
        !place_of_faults(s, group, &path))
        return;
    struct text words = {0};
    add_waits(group, share, blocked, rate, &path, &words);
    add_source(s, group, rate, &words, f);
    f->words = words.s;
    call_path_release(&path);
}

/* ---- from another node ---- */

/* Faults of NUMA balancing a second, of the whole machine. */
static double numa_rate(const struct scene *s)
{
    const struct profile_machine *m = &profile_see_host(s->p)->machine;
    return m->numa_known && m->numa_balancing ? rule_per_second(m->numa_faults, s) : 0;
}

bool rule_numa_explains(const struct scene *s, const struct thread_group *group)
{
    double faults = rule_per_second(rule_usage_of(group).minor_faults, s);
    double numa = numa_rate(s);
    return numa >= many_moves && numa >= mostly * faults && faults >= mostly * numa;
}

/* The kernel counts them for the machine alone: that they are this group's is what the equal
 * numbers say, and the sentence says both. */
void rule_numa_balancing(const struct scene *s, struct thread_group *group, struct finding *f)
{
    const struct profile_machine *m = &profile_see_host(s->p)->machine;
    struct profile_usage u = rule_usage_of(group);
    double system = share_of(u.system_ns, u.system_ns + u.user_ns);
    add_figure(f, "numa_faults_per_s", numa_rate(s));
    add_figure(f, "minor_faults_per_s", rule_per_second(u.minor_faults, s));
    f->weight = system * share_of(group->cpu_ns, group->wall_ns) * (group->leads ? 1.4 : 1.2);
    if (!rule_numa_explains(s, group))
        return;
    struct text words = {0};
    text_addf(&words, "%s take%s ", group->noun, verb_s(group));
    text_add_thousands(&words, rule_per_second(u.minor_faults, s));
    text_add(&words, " minor page faults a second. Meanwhile the kernel's NUMA balancing caused ");
    text_add_thousands(&words, numa_rate(s));
    text_add(&words, " on this machine and moved ");
    text_add_thousands(&words, rule_per_second(m->numa_moved, s));
    text_add(&words, " pages a second between nodes: numactl --cpunodebind --membind, or "
                     "kernel.numa_balancing=0.");
    f->words = words.s;
}
