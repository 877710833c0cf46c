#include "profile/moments.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/text.h"
#include "profile/profile_private.h"

bool mark_text_is_good(const char *text, size_t len)
{
    if (!len || len > MOST_MARK_BYTES)
        return false;
    for (size_t i = 0; i < len;) {
        size_t length = utf8_length(text + i, len - i);
        if (!length || utf8_is_order(text + i, length))
            return false;
        i += length;
    }
    return true;
}

static string_id add_text(struct strings *texts, const char *text)
{
    return (string_id){strings_add(texts, text, strlen(text)).ix | of_a_mark};
}

bool profile_add_mark(struct profile *p, int64_t at_ns, uint64_t utc_ns, const char *text)
{
    struct moments *m = &p->moments;
    if (m->n_marks == MOST_MARKS) {
        profile_add_number(p, METRIC_MARKS_DROPPED, 1);
        return false;
    }
    m->marks = array_reserve(m->marks, &m->marks_capacity, m->n_marks + 1, sizeof *m->marks);
    m->marks[m->n_marks++] = (struct user_mark){at_ns, utc_ns, add_text(&m->texts, text)};
    return true;
}

void profile_age_marks(struct profile *p, int64_t ns)
{
    struct moments *m = &p->moments;
    struct strings left = {0};
    size_t gone = 0;
    while (gone < m->n_marks && m->marks[gone].at_ns < ns)
        gone++;
    if (!gone)
        return;
    m->n_marks -= gone;
    m->n_aged += gone;
    for (size_t i = 0; i < m->n_marks; i++) {
        m->marks[i] = m->marks[i + gone];
        m->marks[i].text = add_text(&left, profile_text(p, m->marks[i].text));
    }
    strings_release(&m->texts);
    m->texts = left;
}

uint64_t profile_marks_aged(const struct profile *p)
{
    return p->moments.n_aged;
}

void profile_add_pause(struct profile *p, const struct user_pause *pause)
{
    struct moments *m = &p->moments;
    profile_add_number(p, METRIC_PAUSED_S, (double)pause->paused_ns / NS_PER_S);
    if (m->n_pauses == MOST_PAUSES) {
        m->pauses[m->n_pauses - 1].paused_ns += pause->paused_ns;
        return;
    }
    m->pauses = array_reserve(m->pauses, &m->pauses_capacity, m->n_pauses + 1, sizeof *m->pauses);
    m->pauses[m->n_pauses++] = *pause;
}

const struct user_mark *profile_marks(const struct profile *p, size_t *ret_n)
{
    *ret_n = p->moments.n_marks;
    return p->moments.marks;
}

const struct user_pause *profile_pauses(const struct profile *p, size_t *ret_n)
{
    *ret_n = p->moments.n_pauses;
    return p->moments.pauses;
}

int64_t profile_utc_of(const struct profile *p, int64_t at_ns)
{
    int64_t utc_ns = p->origin.utc_ns + at_ns;
    for (size_t i = 0; i < p->moments.n_pauses && p->moments.pauses[i].at_ns < at_ns; i++)
        utc_ns += p->moments.pauses[i].paused_ns;
    return utc_ns;
}

int64_t profile_time_of_utc(const struct profile *p, int64_t utc_ns)
{
    int64_t at_ns = utc_ns - p->origin.utc_ns;
    for (size_t i = 0; i < p->moments.n_pauses; i++) {
        const struct user_pause *pause = &p->moments.pauses[i];
        if (pause->at_ns < at_ns)
            at_ns = max_i64(pause->at_ns, at_ns - pause->paused_ns);
    }
    return at_ns;
}

void profile_cut_moments(struct profile *p, int64_t from_ns, int64_t to_ns)
{
    struct moments *m = &p->moments;
    size_t n_marks = 0;
    size_t n_pauses = 0;
    double paused_s = 0;
    for (size_t i = 0; i < m->n_marks; i++)
        if (m->marks[i].at_ns >= from_ns && m->marks[i].at_ns < to_ns) {
            m->marks[n_marks] = m->marks[i];
            m->marks[n_marks++].at_ns -= from_ns;
        }
    for (size_t i = 0; i < m->n_pauses; i++)
        if (m->pauses[i].at_ns >= from_ns && m->pauses[i].at_ns < to_ns) {
            paused_s += (double)m->pauses[i].paused_ns / NS_PER_S;
            m->pauses[n_pauses] = m->pauses[i];
            m->pauses[n_pauses++].at_ns -= from_ns;
        }
    m->n_marks = n_marks;
    m->n_pauses = n_pauses;
    profile_set_number(p, METRIC_PAUSED_S, paused_s);
}
