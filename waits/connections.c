#include "waits/connections.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "waits/descriptor.h"

enum { LONGEST_CPU_NS = 50 * NS_PER_MS, MOST_DESCRIPTORS = 1 << 16 };

struct search {
    struct connections *found;
    pid_t pid;
    struct map inodes; /* of the process's sockets; taken away when found */
    size_t left;       /* that may be added */
};

/* Sets INODES to those of the sockets that PID has open. */
static void find_sockets(pid_t pid, struct map *inodes)
{
    char path[64];
    char link[64];
    (void)snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *descriptors = opendir(path);
    const struct dirent *entry;
    size_t n = 0;
    while (descriptors && (entry = readdir(descriptors)) && n++ < MOST_DESCRIPTORS) {
        uint64_t inode;
        ssize_t len = readlinkat(dirfd(descriptors), entry->d_name, link, sizeof link - 1);
        if (len <= 0)
            continue;
        link[len] = '\0';
        if (descriptor_parse_link(link, &inode) == DESCRIPTOR_SOCKET)
            map_put(inodes, inode, 1);
    }
    if (descriptors)
        (void)closedir(descriptors);
}

static bool take(void *ctx, const struct net_socket *s)
{
    struct search *search = ctx;
    struct connections *c = search->found;
    uint64_t known;
    if (s->udp || s->state == NET_LISTEN || !s->inode ||
        !map_get(&search->inodes, s->inode, &known))
        return true;
    map_remove(&search->inodes, s->inode);
    c->items = array_reserve(c->items, &c->capacity, c->n + 1, sizeof *c->items);
    c->items[c->n++] =
        (struct connection){.pid = search->pid, .local = s->local, .remote = s->remote};
    return --search->left > 0 && search->inodes.n > 0;
}

void connections_add(struct connections *c, pid_t pid)
{
    struct search search = {.found = c, .pid = pid, .left = MOST_CONNECTIONS};
    find_sockets(pid, &search.inodes);
    if (search.inodes.n) {
        const struct net_visitor visitor = {.each = take, .ctx = &search};
        (void)net_sockets_each(pid, LONGEST_CPU_NS, &visitor);
    }
    map_release(&search.inodes);
}

void connections_release(struct connections *c)
{
    free(c->items);
    *c = (struct connections){0};
}
