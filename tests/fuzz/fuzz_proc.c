/* Texts of /proc/PID/task/TID: schedstat, syscall, stat, status; a command line and texts of the
 * machine; the first byte says which.  Those that were accepted must be printable as what they
 * say. */
#include <string.h>

#include "target/host_state.h"
#include "target/proc.h"
#include "target/secrets.h"
#include "target/task_sched.h"
#include "tests/fuzz/fuzz.h"

static void count(void *ctx, const char *masked)
{
    *(size_t *)ctx += strlen(masked);
}

static void command_line(const char *text, size_t len)
{
    struct text line = {0};
    size_t all = 0;
    secrets_command_line(text, len, &line);
    secrets_each_argument(text, len, count, &all);
    FUZZ_CHECK(line.len <= 8 * (len + 8));
    text_release(&line);
}

static void machine(const char *text, size_t len)
{
    char word[HOST_WORDS_BYTES];
    host_choice_parse(text, len, word);
    FUZZ_CHECK(strlen(word) < HOST_WORDS_BYTES);
    FUZZ_CHECK(host_pressure_parse(text, len).some_ns >= 0);
    FUZZ_CHECK(host_swapped_parse(text, len) >= -1);
    (void)host_list_parse(text, len);
    (void)host_paging_parse(text, len);
    (void)task_sched_parse(text, len, &(struct task_sched){0});
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct schedstat sched;
    struct syscall_state call;
    struct task_stat stat;
    struct task_status status;
    const char *text = (const char *)bytes + 1;
    if (!len--)
        return 0;
    switch (bytes[0] % 5) {
    case 0:
        (void)schedstat_parse(text, len, &sched);
        break;
    case 1:
        if (syscall_state_parse(text, len, &call) == 0)
            FUZZ_CHECK(call.view == SYSCALL_RUNNING || call.number >= -1);
        break;
    case 2:
        if (task_stat_parse(text, len, &stat) == 0)
            FUZZ_CHECK(strlen(stat.comm) < TASK_COMM_BYTES && stat.ppid >= 0);
        break;
    case 3:
        if (task_status_parse(text, len, &status) == 0)
            FUZZ_CHECK(status.tgid >= 0 && status.tracer >= 0 && status.seccomp <= 2);
        break;
    default:
        command_line(text, len);
        machine(text, len);
    }
    return 0;
}
