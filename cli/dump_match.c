#include "cli/dump_match.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "waits/connections.h"

static void write_hex(struct json *j, const char *key, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    json_string_field(j, key, text);
}

void dump_match_write_machine(struct json *j)
{
    char text[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    json_string_field(j, "boot_id", *text ? text : NULL);
    if (fd >= 0)
        (void)close(fd);
}

void dump_match_open(struct dump_match *m, const struct dump *d, pid_t pid)
{
    m->pid = pid;
    if (!d->from_proc) /* its memory map may be locked: by that it hangs */
        (void)maps_load(&m->maps, pid);
}

void dump_match_close(struct dump_match *m)
{
    maps_release(&m->maps);
    *m = (struct dump_match){0};
}

/* ---- a wait: shared memory ---- */

/* May a futex, or another process's words, lie in it?  No device's memory. */
static bool is_shared(const struct mapping *of)
{
    bool device = str_starts(of->path, "/dev/") && !str_starts(of->path, "/dev/shm/") &&
                  !str_starts(of->path, "/dev/zero");
    return of->shared && of->inode && of->prot & PROT_WRITE && !device;
}

static void write_file(struct json *j, const struct mapping *of)
{
    char device[32];
    (void)snprintf(device, sizeof device, "%x:%x", of->dev_major, of->dev_minor);
    json_string_field(j, "device", device);
    write_hex(j, "inode", of->inode);
}

/* Where the word lies that T waits on, if other processes may change it, too. */
static void write_place(struct json *j, const struct dump_thread *t, const struct dump_match *m)
{
    const struct blocker *b = &t->side.blocker;
    uint64_t addr = t->side.addr ? t->side.addr : t->args[0];
    bool futex = t->state == THREAD_BLOCKED && t->syscall == SYS_futex;
    bool shared = futex && !(t->args[1] & FUTEX_PRIVATE_FLAG);
    const struct mapping *of = shared ? maps_find(&m->maps, addr) : NULL;
    if (of && is_shared(of)) {
        write_file(j, of);
        write_hex(j, "offset", addr - of->start + of->file_offset);
    } else if (b->kind == BLOCKER_SHARED) {
        write_hex(j, "inode", b->inode);
        write_hex(j, "offset", b->offset);
    }
    if (b->kind == BLOCKER_SHARED && b->tid)
        json_int_field(j, "owner", b->tid);
}

/* ---- a wait: connections ---- */

/* Is B the other end of a TCP connection, and is it known? */
static bool is_connection(const struct blocker *b)
{
    bool connected = b->kind == BLOCKER_PEER || b->kind == BLOCKER_CLIENT;
    return connected && b->net == NET_TCP && b->host.ix;
}

static char *address_of(const struct dump *d, const struct blocker *b)
{
    return xasprintf("%s:%u", profile_text(d->profile, b->host), b->port);
}

/* The connections that an epoll, a poll or a select waits for, and how many other things. */
static void write_events(struct json *j, const struct dump *d, const struct wait_side *side)
{
    uint64_t more = (uint64_t)side->more + side->at_least;
    bool listens = false;
    json_key(j, "remotes");
    json_array(j);
    const struct listed_blocker *at = profile_see_blocker(d->profile, side->list);
    for (; at; at = profile_see_blocker(d->profile, at->next)) {
        const struct blocker *b = &at->blocker;
        if (is_connection(b)) {
            char *remote = address_of(d, b);
            json_string(j, remote);
            free(remote);
        } else if (b->kind == BLOCKER_LISTENER) {
            listens = true;
        } else if (b->kind != BLOCKER_ITSELF) {
            more += b->n;
        }
    }
    json_end_array(j);
    json_int_field(j, "more", (int64_t)more);
    json_bool_field(j, "listens", listens);
}

void dump_match_write_wait(struct json *j, const struct dump *d, const struct dump_thread *t,
                           const struct dump_match *m)
{
    if (is_connection(&t->side.blocker)) {
        char *remote = address_of(d, &t->side.blocker);
        json_string_field(j, "remote", remote);
        free(remote);
    }
    if (t->side.thing == THING_EVENTS)
        write_events(j, d, &t->side);
    write_place(j, t, m);
}

/* ---- a process ---- */

static void write_namespace(struct json *j, pid_t pid)
{
    struct stat st;
    char path[48];
    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
    if (json_known(j, "net_ns", stat(path, &st) == 0))
        json_int(j, (int64_t)st.st_ino);
}

static bool are_one_file(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* The files by which it may share memory. */
static void write_shared(struct json *j, const struct dump_match *m)
{
    enum { MOST_FILES = 64 };
    const struct mapping *written[MOST_FILES];
    size_t n = 0;
    json_key(j, "shared");
    json_array(j);
    for (size_t i = 0; i < m->maps.n && n < MOST_FILES; i++) {
        const struct mapping *of = &m->maps.items[i];
        size_t k = 0;
        while (k < n && !are_one_file(written[k], of))
            k++;
        if (k < n || !is_shared(of))
            continue;
        written[n++] = of;
        json_object(j);
        write_file(j, of);
        json_end_object(j);
    }
    json_end_array(j);
}

static void write_address(struct json *j, const char *key, const struct net_address *a)
{
    struct text text = {0};
    net_address_add(&text, a);
    json_string_field(j, key, text.s);
    text_release(&text);
}

static void write_connections(struct json *j, pid_t pid)
{
    struct connections all = {0};
    connections_add(&all, pid);
    json_key(j, "connections");
    json_array(j);
    for (size_t i = 0; i < all.n; i++) {
        json_object(j);
        write_address(j, "local", &all.items[i].local);
        write_address(j, "remote", &all.items[i].remote);
        json_end_object(j);
    }
    json_end_array(j);
    connections_release(&all);
}

void dump_match_write_process(struct json *j, const struct dump_match *m)
{
    write_namespace(j, m->pid);
    write_shared(j, m);
    write_connections(j, m->pid);
}
