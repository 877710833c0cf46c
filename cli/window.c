#include "cli/window.h"

#include <errno.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "cli/quality.h"
#include "profile/kept.h"
#include "profile/moments.h"

static const int64_t day_ns = INT64_C(86400) * NS_PER_S;
static const double nearly_all = 0.995; /* exact: no word about the rest */

static double seconds(int64_t ns)
{
    return (double)ns / NS_PER_S;
}

/* The day is that on which P has such a time. */
static int64_t of_day(const struct profile *p, int64_t ns)
{
    int64_t start_ns = profile_origin(p)->utc_ns;
    int64_t utc_ns = start_ns / day_ns * day_ns + ns;
    bool next_day = utc_ns < start_ns && utc_ns + day_ns <= profile_utc_of(p, profile_end_ns(p));
    return profile_time_of_utc(p, next_day ? utc_ns + day_ns : utc_ns);
}

/* Where M is in P's time; NONE_NS: nowhere in particular. */
static int64_t place(const struct profile *p, const struct moment *m, int64_t none_ns)
{
    switch (m->kind) {
    case MOMENT_NONE:
        break;
    case MOMENT_SINCE_START:
        return m->ns;
    case MOMENT_BEFORE_END:
        return profile_end_ns(p) - m->ns;
    case MOMENT_OF_DAY:
        return of_day(p, m->ns);
    case MOMENT_UTC:
        return profile_time_of_utc(p, m->ns);
    }
    return none_ns;
}

static bool needs_clock(const struct moment *m)
{
    return m->kind == MOMENT_OF_DAY || m->kind == MOMENT_UTC;
}

/* "09:00:36.7", for what is NS behind P's beginning. */
static void add_utc(struct text *out, const struct profile *p, int64_t ns)
{
    int64_t of_day_ns = profile_utc_of(p, ns) % day_ns;
    int64_t s = of_day_ns / NS_PER_S;
    text_addf(out, "%02d:%02d:%02d.%d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60),
              (int)(of_day_ns % NS_PER_S / (NS_PER_S / 10)));
}

/* Says WHAT, and what P has. */
static int say_outside(const struct profile *p, const char *what, struct err *err)
{
    struct text has = {0};
    text_addf(&has, "0 to %.3f s", seconds(profile_end_ns(p)));
    if (profile_origin(p)->utc_ns) {
        char day[CLOCK_UTC_BYTES];
        clock_utc_text_of(profile_origin(p)->utc_ns, day);
        text_addf(&has, ", %s to ", day);
        add_utc(&has, p, profile_end_ns(p));
        text_add(&has, "Z");
    }
    int r = err_set(err, -EINVAL, "the recording has %s: it has %s", what, has.s);
    text_release(&has);
    return r;
}

/* A time of day that is not P's is a mistake; seconds may be more than there are. */
static bool is_elsewhere(const struct profile *p, const struct moment *m)
{
    static const int64_t rounded_ns = NS_PER_S; /* as it is printed */
    int64_t at_ns = place(p, m, 0);
    return needs_clock(m) && (at_ns < -rounded_ns || at_ns > profile_end_ns(p) + rounded_ns);
}

int window_of(const struct options *o, const struct profile *p, int64_t *ret_from_ns,
              int64_t *ret_to_ns, struct err *err)
{
    if (!profile_origin(p)->utc_ns && (needs_clock(&o->from) || needs_clock(&o->to)))
        return err_set(err, -EINVAL,
                       "the recording does not say at what time it was made: give --from and --to "
                       "in seconds");
    if (is_elsewhere(p, &o->from) || is_elsewhere(p, &o->to))
        return say_outside(p,
                           is_elsewhere(p, &o->from) ? "no such time as --from (UTC)"
                                                     : "no such time as --to (UTC)",
                           err);
    int64_t end_ns = profile_end_ns(p);
    int64_t from_ns = max_i64(place(p, &o->from, 0), 0);
    int64_t to_ns = min_i64(place(p, &o->to, end_ns), end_ns);
    if (from_ns >= to_ns)
        return say_outside(p, "nothing between --from and --to", err);
    *ret_from_ns = from_ns;
    *ret_to_ns = to_ns;
    return 0;
}

/* What the window lacks, and how exact it is. */
static void add_notes(struct text *out, const struct profile_cut *cut)
{
    if (cut->left_out)
        text_addf(out, "; %u of %u threads have no time in it", cut->left_out, cut->threads);
    if (cut->folded)
        text_addf(out,
                  "; %llu threads that ended before or after are sums without a time, and left out",
                  (unsigned long long)cut->folded);
    if ((double)cut->by_samples_ns > (1 - nearly_all) * (double)cut->counted_ns)
        text_addf(out,
                  "; of %.3f s on CPUs and waiting for one %.3f s are shared out at the edges by "
                  "samples, the rest is the kernel's count",
                  seconds(cut->counted_ns), seconds(cut->by_samples_ns));
    if (cut->step_ns)
        text_addf(out,
                  "; the recording is coarse there: what lies within %.0f s of an edge may be of "
                  "its other side",
                  seconds(cut->step_ns));
}

static void cut(struct profile *p, const struct view_options *view, int64_t from_ns, int64_t to_ns,
                struct profile_cut *ret)
{
    bool doubted = *profile_metadata_text(p, "cpu_check") != '\0';
    profile_cut(p, from_ns, to_ns, ret);
    quality_measure(p, view);
    /* A process's clock is known of the whole recording: its part is a share, which says nothing
     * against the threads' counts where those of the whole agreed. */
    if (!doubted)
        profile_forget_metadatum(p, "cpu_check");
}

bool window_cut_ring(struct profile *p, const struct view_options *view, int64_t *ret_whole_ns)
{
    static const double rounded_s = 0.001; /* as it is kept */
    struct profile_cut unused;
    double kept_s = profile_number(p, METRIC_RING_S);
    int64_t end_ns = profile_end_ns(p);
    *ret_whole_ns = end_ns;
    if (kept_s < rounded_s || seconds(end_ns) <= kept_s + rounded_s)
        return false;
    cut(p, view, end_ns - (int64_t)(kept_s * NS_PER_S), end_ns, &unused);
    return true;
}

int window_cut(const struct options *o, struct profile *p, struct window *ret, struct err *err)
{
    *ret = (struct window){.to_ns = profile_end_ns(p), .whole_ns = profile_end_ns(p)};
    ret->started_utc_ns = profile_origin(p)->utc_ns;
    if (!o->from.kind && !o->to.kind)
        return 0;
    int r = window_of(o, p, &ret->from_ns, &ret->to_ns, err);
    if (r < 0)
        return r;
    ret->asked = true;
    cut(p, &o->view, ret->from_ns, ret->to_ns, &ret->cut);
    return 0;
}

void window_add_words(struct text *out, const struct profile *p, const struct window *w, bool brief)
{
    bool coarse = brief && w->cut.step_ns; /* that says more than the time of day */
    if (!w->asked)
        return;
    text_addf(out, "window %.3f to %.3f s of %.3f s", seconds(w->from_ns), seconds(w->to_ns),
              seconds(w->whole_ns));
    if (profile_origin(p)->utc_ns && !coarse) {
        text_add(out, " (");
        add_utc(out, p, 0);
        text_add(out, " to ");
        add_utc(out, p, profile_end_ns(p));
        text_add(out, " UTC)");
    }
    if (coarse)
        text_addf(out, "; edges are known to %.0f s", seconds(w->cut.step_ns));
    if (!brief)
        add_notes(out, &w->cut);
}
