#include "profile/moments.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
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

bool profile_add_mark(struct profile *p, int64_t at_ns, uint64_t utc_ns, const char *text)
{
    struct moments *m = &p->moments;
    if (m->n_marks == MOST_MARKS) {
        profile_add_number(p, METRIC_MARKS_DROPPED, 1);
        return false;
    }
    m->marks = array_reserve(m->marks, &m->marks_capacity, m->n_marks + 1, sizeof *m->marks);
    m->marks[m->n_marks++] =
        (struct user_mark){at_ns, utc_ns, strings_add(&p->strings, text, strlen(text))};
    return true;
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
