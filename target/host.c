#include "target/host.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/cursor.h"

int64_t host_stolen_parse(const char *text, size_t len, int64_t hz)
{
    enum { STEAL = 8 }; /* of "cpu user nice system idle iowait irq softirq steal …" */
    struct cursor c = {text, text + len};
    uint64_t value = 0;
    if (hz <= 0 || !cursor_take(&c, "cpu "))
        return 0;
    for (int i = 0; i < STEAL; i++)
        if (!cursor_take(&c, " ") || !cursor_u64(&c, 10, &value))
            return 0;
    return value < INT64_MAX / NS_PER_S ? (int64_t)value * NS_PER_S / hz : 0;
}

int64_t host_stolen_ns(void)
{
    char text[256];
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = pread(fd, text, sizeof text, 0);
    close(fd);
    return n > 0 ? host_stolen_parse(text, (size_t)n, sysconf(_SC_CLK_TCK)) : 0;
}
