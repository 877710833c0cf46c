#include "target/host.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/cursor.h"

struct host_cpu host_cpu_parse(const char *text, size_t len, int64_t hz)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    struct cursor c = {text, text + len};
    uint64_t ticks[FIELDS];
    if (hz <= 0 || !cursor_take(&c, "cpu "))
        return (struct host_cpu){0};
    for (int i = 0; i < FIELDS; i++)
        if (!cursor_take(&c, " ") || !cursor_u64(&c, 10, &ticks[i]) ||
            ticks[i] >= INT64_MAX / NS_PER_S / FIELDS)
            return (struct host_cpu){0};
    const int64_t ns = NS_PER_S / hz;
    return (struct host_cpu){
        .busy_ns = (int64_t)(ticks[USER] + ticks[NICE] + ticks[SYSTEM]) * ns,
        .interrupts_ns = (int64_t)(ticks[IRQ] + ticks[SOFTIRQ]) * ns,
        .stolen_ns = (int64_t)ticks[STEAL] * ns,
    };
}

struct host_cpu host_cpu_read(void)
{
    char text[256];
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return (struct host_cpu){0};
    ssize_t n = pread(fd, text, sizeof text, 0);
    close(fd);
    return host_cpu_parse(text, n > 0 ? (size_t)n : 0, sysconf(_SC_CLK_TCK));
}

bool host_kernel_is_old(const char *release)
{
    enum { OLDEST_MAJOR = 4, OLDEST_MINOR = 18 };
    struct cursor c = {release, release + strlen(release)};
    uint64_t major;
    uint64_t minor;
    if (!cursor_u64(&c, 10, &major) || !cursor_take(&c, ".") || !cursor_u64(&c, 10, &minor))
        return false;
    return major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR);
}
