#include "target/memory_limit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/text.h"
#include "target/proc.h"

static const uint64_t LEAST_BYTES = UINT64_C(1) << 30;
static const uint64_t MOST_BYTES = UINT64_C(2) << 30;

static uint64_t clamped(uint64_t bytes)
{
    return bytes < LEAST_BYTES ? LEAST_BYTES : bytes > MOST_BYTES ? MOST_BYTES : bytes;
}

/* The memory that counts against the limit: private writable mappings. */
static uint64_t in_use(void)
{
    enum { DATA_FIELD = 5 };
    char text[PROC_TEXT_BYTES];
    uint64_t pages = 0;
    ssize_t len = proc_read_text(getpid(), 0, "statm", text, sizeof text);
    const char *s = text;
    for (int i = 0; len > 0 && s && i <= DATA_FIELD; i++) {
        s = parse_u64(s, text + len, 10, &pages);
        s = s ? s + 1 : NULL;
    }
    return len > 0 && s ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;
}

void memory_limit(uint64_t recording_bytes)
{
    struct sysinfo machine;
    struct rlimit limit;
    if (sysinfo(&machine) != 0 || getrlimit(RLIMIT_DATA, &limit) != 0)
        return;
    uint64_t bytes = clamped((uint64_t)machine.totalram * machine.mem_unit / 4);
    bytes += 2 * recording_bytes;
    if (bytes >= limit.rlim_cur || in_use() > bytes / 2)
        return;
    limit.rlim_cur = bytes;
    (void)setrlimit(RLIMIT_DATA, &limit);
}
