#include "waits/time_out.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#include "arch/syscalls.h"
#include "base/clock.h"

/* How an argument says when the call ends. */
enum form {
    MILLISECONDS, /* an int; negative: never */
    TIMESPEC,     /* a pointer to a struct timespec, from the beginning on; NULL: never */
    TIMEVAL,
    UNTIL, /* a pointer to a struct timespec of CLOCK_REALTIME; NULL: never */
    FUTEX, /* one of these two pointers to a struct timespec, as the operation says */
};

static const struct row {
    int64_t number;
    unsigned argument;
    enum form form;
} rows[] = {
    {SYS_poll, 2, MILLISECONDS},       {SYS_ppoll, 2, TIMESPEC},
    {SYS_select, 4, TIMEVAL},          {SYS_pselect6, 4, TIMESPEC},
    {SYS_epoll_wait, 3, MILLISECONDS}, {SYS_epoll_pwait, 3, MILLISECONDS},
    {SYS_epoll_pwait2, 3, TIMESPEC},   {SYS_futex, 3, FUTEX},
    {SYS_semtimedop, 3, TIMESPEC},     {SYS_rt_sigtimedwait, 2, TIMESPEC},
    {SYS_mq_timedreceive, 4, UNTIL},   {SYS_mq_timedsend, 4, UNTIL},
    {SYS_io_getevents, 4, TIMESPEC},
};

static const struct row *row_of(int64_t number)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

bool time_out_is_given(int64_t number, const uint64_t args[6])
{
    const struct row *row = row_of(number);
    if (!row)
        return false;
    uint64_t value = args[row->argument];
    return row->form == MILLISECONDS ? (int32_t)(uint32_t)value >= 0 : value != 0;
}

/* The seconds and the parts of UNIT_NS that ADDR points to; −1: they cannot be read, or are no time
 * before the year 2170. */
static int64_t read_time(struct mem *mem, uint64_t addr, int64_t unit_ns)
{
    static const int64_t most_s = INT64_C(200) * 366 * 24 * 3600;
    int64_t words[2];
    if (mem_read(mem, addr, words, sizeof words) < 0 || words[0] < 0 || words[0] > most_s ||
        words[1] < 0 || words[1] >= NS_PER_S / unit_ns)
        return -1;
    return words[0] * NS_PER_S + words[1] * unit_ns;
}

/* CLOCK_REALTIME's AT_NS, as long as nobody sets that clock. */
static int64_t monotonic_of(int64_t at_ns)
{
    return at_ns - clock_utc_ns() + clock_now_ns();
}

/* futex(2): of FUTEX_WAIT alone the time counts from the beginning on. */
static int64_t futex_end_ns(uint64_t operation, int64_t time_ns, int64_t begun_ns)
{
    int command = (int)operation & FUTEX_CMD_MASK;
    if (command == FUTEX_WAIT)
        return begun_ns + time_ns;
    return command == FUTEX_LOCK_PI || operation & FUTEX_CLOCK_REALTIME ? monotonic_of(time_ns)
                                                                        : time_ns;
}

int64_t time_out_end_ns(int64_t number, const uint64_t args[6], struct mem *mem, int64_t begun_ns)
{
    const struct row *row = row_of(number);
    if (!row || !time_out_is_given(number, args))
        return 0;
    if (row->form == MILLISECONDS)
        return begun_ns + (int32_t)(uint32_t)args[row->argument] * (int64_t)NS_PER_MS;
    int64_t unit_ns = row->form == TIMEVAL ? NS_PER_US : 1;
    int64_t time_ns = read_time(mem, args[row->argument], unit_ns);
    if (time_ns < 0)
        return 0;
    if (row->form == FUTEX)
        return futex_end_ns(args[1], time_ns, begun_ns);
    return row->form == UNTIL ? monotonic_of(time_ns) : begun_ns + time_ns;
}
