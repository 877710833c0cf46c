#include "waits/net_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "target/cursor.h"
#include "target/proc.h"
#include "waits/net_diag.h"

enum { WORDS = 4, WORD_BYTES = 4, READ_BYTES = 64 * 1024 };

/* ---- a line ---- */

static void skip_spaces(struct cursor *c)
{
    while (c->s < c->end && *c->s == ' ')
        c->s++;
}

/* The kernel prints each 32 bits of an address as this machine reads them. */
static bool take_word(struct cursor *c, uint8_t ret[WORD_BYTES])
{
    enum { DIGITS = 8 };
    uint64_t word;
    if (c->end - c->s < DIGITS)
        return false;
    struct cursor digits = {c->s, c->s + DIGITS};
    if (!cursor_u64(&digits, 16, &word) || digits.s != digits.end)
        return false;
    uint32_t bytes = (uint32_t)word;
    memcpy(ret, &bytes, sizeof bytes);
    c->s += DIGITS;
    return true;
}

static bool take_address(struct cursor *c, bool v6, struct net_address *ret)
{
    uint64_t port;
    *ret = (struct net_address){.v6 = v6};
    skip_spaces(c);
    for (size_t i = 0; i < (v6 ? WORDS : 1); i++)
        if (!take_word(c, ret->bytes + WORD_BYTES * i))
            return false;
    if (!cursor_take(c, ":") || !cursor_u64(c, 16, &port) || port > UINT16_MAX)
        return false;
    ret->port = (uint16_t)port;
    return true;
}

/* A number in BASE, with BEFORE in front of it. */
static bool take_number(struct cursor *c, const char *before, unsigned base, uint64_t *ret)
{
    skip_spaces(c);
    return cursor_take(c, before) && cursor_u64(c, base, ret);
}

/* "  sl  local remote st tx:rx tr:when retrnsmt uid timeout inode …" */
int net_socket_parse(const char *line, size_t len, bool v6, struct net_socket *ret)
{
    struct cursor c = {line, line + len};
    struct net_socket s = {0};
    uint64_t state;
    uint64_t unused;
    bool good = take_number(&c, "", 10, &unused) && cursor_take(&c, ":") &&
                take_address(&c, v6, &s.local) && take_address(&c, v6, &s.remote) &&
                take_number(&c, "", 16, &state) && take_number(&c, "", 16, &s.tx_bytes) &&
                take_number(&c, ":", 16, &s.rx_bytes) && take_number(&c, "", 16, &unused) &&
                take_number(&c, ":", 16, &unused) && take_number(&c, "", 16, &unused) &&
                take_number(&c, "", 10, &unused) && take_number(&c, "", 10, &unused) &&
                take_number(&c, "", 10, &s.inode) && state < 16;
    if (!good)
        return -EPROTO;
    s.state = (unsigned)state;
    *ret = s;
    return 0;
}

/* ---- a table ---- */

struct table_look {
    int64_t end_cpu_ns;
    const struct net_visitor *visitor;
    bool v6, udp;
};

/* Returns how many bytes of TEXT were whole lines; −1: enough. */
static ssize_t look_at_lines(const struct table_look *look, const char *text, size_t len)
{
    const char *at = text;
    const char *end;
    while ((end = memchr(at, '\n', len - (size_t)(at - text)))) {
        struct net_socket s;
        if (net_socket_parse(at, (size_t)(end - at), look->v6, &s) == 0) {
            s.udp = look->udp;
            if (!look->visitor->each(look->visitor->ctx, &s))
                return -1;
        }
        at = end + 1;
    }
    return at - text;
}

/* True: it was read to its end, or is not there (no version 6). */
static bool look_at_table(const struct table_look *look, pid_t pid, const char *name, char *buf)
{
    int fd = proc_open(pid, name);
    size_t kept = 0;
    ssize_t n = 0;
    if (fd < 0)
        return fd == -ESRCH;
    while ((n = read(fd, buf + kept, READ_BYTES - kept)) > 0) {
        size_t len = kept + (size_t)n;
        ssize_t done = look_at_lines(look, buf, len);
        if (done < 0 || clock_cpu_ns() > look->end_cpu_ns || (done == 0 && len == READ_BYTES))
            break;
        kept = len - (size_t)done;
        memmove(buf, buf + done, kept);
    }
    close(fd);
    return n == 0;
}

struct table {
    const char *name;
    bool v6, udp;
};
static const struct table tcp_tables[] = {{"net/tcp", false, false}, {"net/tcp6", true, false}};
static const struct table udp_tables[] = {{"net/udp", false, true}, {"net/udp6", true, true}};
enum { N_TABLES = 2 };

static bool look_at_tables(const struct table *tables, pid_t pid, int64_t end_cpu_ns,
                           const struct net_visitor *visitor)
{
    char *buf = xmalloc(READ_BYTES);
    bool all = true;
    for (size_t i = 0; i < N_TABLES && all; i++) {
        const struct table_look look = {end_cpu_ns, visitor, tables[i].v6, tables[i].udp};
        all = look_at_table(&look, pid, tables[i].name, buf);
    }
    free(buf);
    return all;
}

/* Returns as net_diag_each(). */
static int ask_for_tcp(int64_t end_cpu_ns, const struct net_visitor *v)
{
    static const struct {
        bool v6;
        uint32_t states;
    } parts[] = {{false, NET_LISTENERS},
                 {true, NET_LISTENERS},
                 {false, NET_CONNECTED},
                 {true, NET_CONNECTED}};
    int r = 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && r == 1; i++) {
        bool last = parts[i].v6 && parts[i].states == NET_CONNECTED;
        if (last && v->enough && v->enough(v->ctx))
            break;
        int seen = net_diag_each(parts[i].v6, parts[i].states, end_cpu_ns, v->each, v->ctx);
        r = seen < 0 && parts[i].v6 ? r : seen; /* no version 6 here */
    }
    return r;
}

bool net_sockets_each(pid_t pid, int64_t longest_cpu_ns, const struct net_visitor *visitor)
{
    int64_t end_cpu_ns = clock_cpu_ns() + longest_cpu_ns;
    int r = net_is_here(pid) ? ask_for_tcp(end_cpu_ns, visitor) : -EXDEV;
    bool all = r < 0 ? look_at_tables(tcp_tables, pid, end_cpu_ns, visitor) : r == 1;
    return all && look_at_tables(udp_tables, pid, end_cpu_ns, visitor);
}

/* ---- addresses ---- */

struct net_address net_address_plain(const struct net_address *a)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct net_address plain = {.port = a->port};
    bool inner = a->v6 && memcmp(a->bytes, mapped, sizeof mapped) == 0;
    plain.v6 = a->v6 && !inner;
    memcpy(plain.bytes, inner ? a->bytes + sizeof mapped : a->bytes, plain.v6 ? 16 : 4);
    return plain;
}

bool net_address_same(const struct net_address *a, const struct net_address *b)
{
    struct net_address x = net_address_plain(a);
    struct net_address y = net_address_plain(b);
    return x.v6 == y.v6 && x.port == y.port && memcmp(x.bytes, y.bytes, sizeof x.bytes) == 0;
}

bool net_address_is_loopback(const struct net_address *a)
{
    struct net_address plain = net_address_plain(a);
    return plain.v6 ? memcmp(plain.bytes, &in6addr_loopback, sizeof in6addr_loopback) == 0
                    : plain.bytes[0] == IN_LOOPBACKNET;
}

void net_address_add_host(struct text *out, const struct net_address *a)
{
    char text[INET6_ADDRSTRLEN];
    struct net_address plain = net_address_plain(a);
    if (!inet_ntop(plain.v6 ? AF_INET6 : AF_INET, plain.bytes, text, sizeof text))
        return;
    text_addf(out, plain.v6 ? "[%s]" : "%s", text);
}

void net_address_add(struct text *out, const struct net_address *a)
{
    net_address_add_host(out, a);
    text_addf(out, ":%u", a->port);
}
