#include "cli/hints.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "cli/terminal.h"
#include "recording/recording_file.h"
#include "target/command_line.h"
#include "target/proc.h"

enum { HEAD_BYTES = 4096, MAX_ROWS = 20, MINUTE = 60, HOUR = 3600, DAY = 24 * HOUR };
static const char schema[] = "speedscope.app/file-format-schema.json";

/* ---- recordings ---- */

/* Reads the first bytes of PATH, compressed or not, as text. */
static void read_head(const char *path, char ret[HEAD_BYTES])
{
    gzFile file = gzopen(path, "re");
    int n = file ? gzread(file, ret, HEAD_BYTES - 1) : 0;
    ret[n > 0 ? n : 0] = '\0';
    if (file)
        (void)gzclose(file);
}

bool hints_recording(const char *path)
{
    if (recording_file_is(path)) {
        terminal_error("%s is a recording: wallspy report %s", path, path);
        return true;
    }
    struct stat st;
    char head[HEAD_BYTES];
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    read_head(path, head);
    if (head[0] != '{' || !strstr(head, schema))
        return false;
    terminal_error("%s is a recording: open it at https://www.speedscope.app", path);
    return true;
}

/* ---- processes ---- */

struct named_process {
    pid_t pid;
    uint64_t start_ticks;
};

struct namesakes {
    const char *name;
    struct named_process *processes; /* the user's; root's are all */
    size_t n, capacity;
    size_t others; /* so many of other users */
};

/* Does the file name of one of the first two arguments (the program, or an interpreter's script)
 * begin with NAME? */
static bool arguments_name(pid_t pid, const char *name)
{
    char buf[PROC_TEXT_BYTES];
    ssize_t len = proc_read_text(pid, 0, "cmdline", buf, sizeof buf);
    const char *end = buf + (len > 0 ? len : 0);
    const char *s = buf;
    for (int i = 0; i < 2 && s < end; i++, s += strlen(s) + 1)
        if (str_starts(path_base(s), name))
            return true;
    return false;
}

static void consider(struct namesakes *list, pid_t pid)
{
    struct task_status status;
    struct task_stat stat;
    if (pid == getpid() || proc_stat(pid, 0, &stat) < 0 || stat.state == 'Z' ||
        proc_status(pid, 0, &status) < 0 ||
        (!str_starts(stat.comm, list->name) && !arguments_name(pid, list->name)))
        return;
    if (geteuid() != 0 && status.uid != getuid()) {
        list->others++;
        return;
    }
    list->processes =
        array_reserve(list->processes, &list->capacity, list->n + 1, sizeof *list->processes);
    list->processes[list->n++] = (struct named_process){pid, stat.start_ticks};
}

static void find_all(struct namesakes *list)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        int64_t pid;
        if (parse_whole_i64(entry->d_name, 1, INT32_MAX, &pid) == 0)
            consider(list, (pid_t)pid);
    }
    closedir(dir);
}

static int by_age(const void *a, const void *b)
{
    const struct named_process *x = a;
    const struct named_process *y = b;
    if (x->start_ticks != y->start_ticks)
        return x->start_ticks > y->start_ticks ? -1 : 1;
    return y->pid - x->pid;
}

/* "45 s", "12 min", "3 h", "8 days" */
static void add_age(const struct named_process *p, struct text *out)
{
    struct timespec boot = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &boot);
    long ticks = sysconf(_SC_CLK_TCK);
    int64_t seconds = boot.tv_sec - (int64_t)(p->start_ticks / (uint64_t)(ticks > 0 ? ticks : 100));
    if (seconds / MINUTE < 2)
        text_addf(out, "%lld s", (long long)seconds);
    else if (seconds / HOUR < 2)
        text_addf(out, "%lld min", (long long)(seconds / MINUTE));
    else if (seconds / DAY < 2)
        text_addf(out, "%lld h", (long long)(seconds / HOUR));
    else
        text_addf(out, "%lld days", (long long)(seconds / DAY));
}

/* COMMAND from the file name of its program on. */
static const char *without_directory(const char *command)
{
    const char *end = command + strcspn(command, " ");
    while (end > command && end[-1] != '/')
        end--;
    return end;
}

static void add_row(const struct named_process *p, struct text *out)
{
    struct text age = {0};
    struct text command = {0};
    struct text tame = {0};
    struct text line = {0};
    add_age(p, &age);
    command_line_of(p->pid, &command);
    const char *shown = without_directory(command.len ? command.s : "");
    text_add_tame(&tame, shown, strlen(shown));
    text_addf(&line, "  %8d  %8s  %s", p->pid, age.s, tame.len ? tame.s : "");
    text_add_cut(out, line.s, line.len, (size_t)terminal_width());
    text_add(out, "\n");
    text_release(&age);
    text_release(&command);
    text_release(&tame);
    text_release(&line);
}

static void tell_none(const struct namesakes *list)
{
    const char *name = list->name;
    if (list->others)
        terminal_error("-p takes process ids, and no process of yours is named %s. %zu of other "
                       "users: sudo lists them.",
                       name, list->others);
    else
        terminal_error("-p takes process ids, and no process%s is named %s.",
                       geteuid() == 0 ? "" : " of yours", name);
}

void hints_processes(const char *name)
{
    struct namesakes list = {.name = name};
    struct text rows = {0};
    find_all(&list);
    if (!list.n) {
        tell_none(&list);
        return;
    }
    terminal_error("-p takes process ids. %srocesses named %s, youngest first:",
                   geteuid() == 0 ? "P" : "Your p", name);
    qsort(list.processes, list.n, sizeof *list.processes, by_age);
    text_addf(&rows, "  %8s  %8s  %s\n", "pid", "age", "command");
    for (size_t i = 0; i < list.n && i < MAX_ROWS; i++)
        add_row(&list.processes[i], &rows);
    if (list.n > MAX_ROWS)
        text_addf(&rows, "  and %zu older ones\n", list.n - MAX_ROWS);
    terminal_lines(rows.s);
    text_release(&rows);
    free(list.processes);
}
