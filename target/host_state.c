#include "target/host_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "target/cursor.h"
#include "target/proc.h"

enum {
    SHORT_BYTES = 512,
    VMSTAT_BYTES = 32 * 1024, /* some 5 kB in 2026 */
    STAT_BYTES = 1024 * 1024, /* some 50 kB with 256 CPUs */
    STATUS_BYTES = 64 * 1024, /* with some thousand groups */
    MAX_POLICIES = 4096,      /* one for each CPU at most */
};

/* As much of the file as BUF holds; files of /proc come in pieces.  Returns its length, 0 if it
 * cannot be read. */
static size_t read_all(int fd, char *buf, size_t capacity)
{
    size_t len = 0;
    ssize_t n = 1;
    while (fd >= 0 && len < capacity && (n = read(fd, buf + len, capacity - len)) > 0)
        len += (size_t)n;
    if (fd >= 0)
        close(fd);
    return n < 0 ? 0 : len;
}

static size_t read_file(const char *path, char *buf, size_t capacity)
{
    return read_all(open(path, O_RDONLY | O_CLOEXEC), buf, capacity);
}

/* ---- how it is set up ---- */

static void copy_word(char ret[HOST_WORDS_BYTES], const char *from, size_t len)
{
    bool plain = len < HOST_WORDS_BYTES;
    for (size_t i = 0; i < len; i++)
        plain = plain && from[i] > ' ' && from[i] < 0x7f;
    (void)snprintf(ret, HOST_WORDS_BYTES, "%.*s", plain ? (int)len : 0, from);
}

void host_choice_parse(const char *text, size_t len, char ret[HOST_WORDS_BYTES])
{
    const char *begin = memchr(text, '[', len);
    const char *end = begin ? memchr(begin, ']', len - (size_t)(begin - text)) : NULL;
    *ret = '\0';
    if (end)
        copy_word(ret, begin + 1, (size_t)(end - begin) - 1);
}

uint32_t host_list_parse(const char *text, size_t len)
{
    enum { LARGEST = 1 << 20 };
    struct cursor c = {text, text + len};
    uint32_t n = 0;
    do {
        uint64_t first;
        uint64_t last;
        if (!cursor_u64(&c, 10, &first))
            return 0;
        last = first;
        if (cursor_take(&c, "-") && !cursor_u64(&c, 10, &last))
            return 0;
        if (last < first || last > LARGEST || n > LARGEST)
            return 0;
        n += (uint32_t)(last - first) + 1;
    } while (cursor_take(&c, ","));
    return n;
}

static void read_choice(const char *path, char ret[HOST_WORDS_BYTES])
{
    char text[SHORT_BYTES];
    host_choice_parse(text, read_file(path, text, sizeof text), ret);
}

/* Adds the governor of one policy, if it is another than those before. */
static void add_governor(int policies, const char *policy, char ret[HOST_WORDS_BYTES])
{
    char path[SHORT_BYTES];
    char text[SHORT_BYTES];
    char word[HOST_WORDS_BYTES];
    (void)snprintf(path, sizeof path, "%.200s/scaling_governor", policy);
    size_t len = read_all(openat(policies, path, O_RDONLY | O_CLOEXEC), text, sizeof text);
    copy_word(word, text, len && text[len - 1] == '\n' ? len - 1 : len);
    size_t known = strlen(ret);
    if (*word && !strstr(ret, word))
        (void)snprintf(ret + known, HOST_WORDS_BYTES - known, "%s%s", known ? ", " : "", word);
}

static void read_governor(char ret[HOST_WORDS_BYTES])
{
    DIR *policies = opendir("/sys/devices/system/cpu/cpufreq");
    const struct dirent *entry;
    *ret = '\0';
    for (int i = 0; policies && i < MAX_POLICIES && (entry = readdir(policies)); i++)
        if (strncmp(entry->d_name, "policy", strlen("policy")) == 0)
            add_governor(dirfd(policies), entry->d_name, ret);
    if (policies)
        closedir(policies);
}

static int read_numa_balancing(void)
{
    char text[SHORT_BYTES];
    uint64_t mode;
    struct cursor c = {text, text};
    c.end += read_file("/proc/sys/kernel/numa_balancing", text, sizeof text);
    return cursor_u64(&c, 10, &mode) && mode < INT32_MAX ? (int)mode : -1;
}

void host_setup_read(struct host_setup *ret)
{
    char text[SHORT_BYTES];
    read_governor(ret->governor);
    read_choice("/sys/kernel/mm/transparent_hugepage/enabled", ret->huge_pages);
    read_choice("/sys/kernel/mm/transparent_hugepage/defrag", ret->huge_pages_defrag);
    ret->numa_balancing = read_numa_balancing();
    size_t len = read_file("/sys/devices/system/node/has_memory", text, sizeof text);
    ret->numa_nodes = host_list_parse(text, len);
}

/* ---- how short it is ---- */

/* The number behind NAME, which begins a line; false: it is not there. */
static bool find_number(const char *text, size_t len, const char *name, uint64_t *ret)
{
    const char *end = text + len;
    for (const char *line = text; line < end;) {
        struct cursor c = {line, end};
        if (cursor_take(&c, name)) {
            cursor_skip_spaces(&c);
            return cursor_u64(&c, 10, ret) && c.s < end; /* else its last digits may be missing */
        }
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
    }
    return false;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=4678689363", in microseconds. */
static bool parse_total(const char *text, size_t len, const char *kind, int64_t *ret_ns)
{
    static const char total[] = " total=";
    const char *line = memmem(text, len, kind, strlen(kind));
    if (!line || (line > text && line[-1] != '\n'))
        return false;
    const char *end = text + len;
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *at = newline ? memmem(line, (size_t)(newline - line), total, strlen(total)) : NULL;
    struct cursor c = {at ? at + strlen(total) : end, end};
    uint64_t us;
    if (!cursor_u64(&c, 10, &us) || us > INT64_MAX / NS_PER_US)
        return false;
    *ret_ns = (int64_t)us * NS_PER_US;
    return true;
}

struct host_pressure host_pressure_parse(const char *text, size_t len)
{
    struct host_pressure p = {0};
    p.known = parse_total(text, len, "some ", &p.some_ns);
    if (!parse_total(text, len, "full ", &p.full_ns))
        p.full_ns = 0; /* of CPUs there is none before Linux 5.13 */
    return p;
}

struct host_paging host_paging_parse(const char *text, size_t len)
{
    struct host_paging p = {0};
    p.swap_known = find_number(text, len, "pswpin ", &p.swap_ins) &&
                   find_number(text, len, "pswpout ", &p.swap_outs);
    p.numa_known = find_number(text, len, "numa_pte_updates ", &p.numa_marked) &&
                   find_number(text, len, "numa_hint_faults ", &p.numa_faults) &&
                   find_number(text, len, "numa_hint_faults_local ", &p.numa_faults_local) &&
                   find_number(text, len, "numa_pages_migrated ", &p.numa_moved);
    return p;
}

bool host_starts_parse(const char *text, size_t len, uint64_t *ret)
{
    return find_number(text, len, "processes ", ret);
}

/* The line stands behind one for each CPU and each interrupt. */
static bool read_starts(uint64_t *ret)
{
    char *text = xmalloc(STAT_BYTES);
    bool known = host_starts_parse(text, read_file("/proc/stat", text, STAT_BYTES), ret);
    free(text);
    return known;
}

static struct host_pressure read_pressure(const char *path)
{
    char text[SHORT_BYTES];
    return host_pressure_parse(text, read_file(path, text, sizeof text));
}

struct host_state host_state_read(void)
{
    char vmstat[VMSTAT_BYTES];
    struct host_state s = {.load = -1};
    if (getloadavg(&s.load, 1) != 1)
        s.load = -1;
    s.starts_known = read_starts(&s.starts);
    s.cpu_pressure = read_pressure("/proc/pressure/cpu");
    s.memory_pressure = read_pressure("/proc/pressure/memory");
    s.paging = host_paging_parse(vmstat, read_file("/proc/vmstat", vmstat, sizeof vmstat));
    return s;
}

int64_t host_swapped_parse(const char *text, size_t len)
{
    enum { KIB = 1024 };
    uint64_t kib;
    bool found = find_number(text, len, "VmSwap:", &kib) && kib < INT64_MAX / KIB;
    return found ? (int64_t)kib * KIB : -1;
}

int64_t host_swapped_bytes(pid_t pid)
{
    char status[STATUS_BYTES];
    return host_swapped_parse(status, read_all(proc_open(pid, "status"), status, sizeof status));
}

void host_boot_id(char ret[HOST_WORDS_BYTES])
{
    size_t len = read_file("/proc/sys/kernel/random/boot_id", ret, HOST_WORDS_BYTES - 1);
    ret[len] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}
