#include "target/task_sched.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "target/cursor.h"

/* The value in the line "NAME   :   VALUE".  The first line has the thread's own name, which may
 * hold a line end, but has no room for NAME and its colon. */
static bool find_value(const char *text, size_t len, const char *name, struct cursor *ret)
{
    const char *at = memmem(text, len, name, strlen(name));
    if (!at)
        return false;
    *ret = (struct cursor){at + strlen(name), text + len};
    cursor_skip_spaces(ret);
    if (!cursor_take(ret, ":"))
        return false;
    cursor_skip_spaces(ret);
    return true;
}

/* Milliseconds with six decimals. */
static bool take_ms(struct cursor *c, uint64_t *ret_ns)
{
    enum { DIGITS = 6, NS_PER_UNIT = 1000000 };
    uint64_t ms;
    uint64_t ns;
    if (!cursor_u64(c, 10, &ms) || !cursor_take(c, "."))
        return false;
    const char *decimals = c->s;
    if (!cursor_u64(c, 10, &ns) || c->s - decimals != DIGITS || ms > UINT64_MAX / NS_PER_UNIT - 1)
        return false;
    *ret_ns = ms * NS_PER_UNIT + ns;
    return true;
}

int task_sched_parse(const char *text, size_t len, struct task_sched *ret)
{
    struct task_sched t;
    struct cursor c;
    uint64_t voluntary;
    uint64_t involuntary;
    if (!find_value(text, len, "\nse.exec_start", &c) || !take_ms(&c, &t.exec_start_ns) ||
        !find_value(text, len, "\nnr_voluntary_switches", &c) || !cursor_u64(&c, 10, &voluntary) ||
        !find_value(text, len, "\nnr_involuntary_switches", &c) ||
        !cursor_u64(&c, 10, &involuntary))
        return -EPROTO;
    t.switches = voluntary + involuntary;
    *ret = t;
    return 0;
}

int task_sched_read(int fd, struct task_sched *ret)
{
    char buf[8192]; /* with kernel.sched_schedstats=1 what is read comes 2.5 KB behind */
    ssize_t n = pread(fd, buf, sizeof buf, 0);
    if (n <= 0)
        return n < 0 ? -errno : -ESRCH;
    return task_sched_parse(buf, (size_t)n, ret);
}
