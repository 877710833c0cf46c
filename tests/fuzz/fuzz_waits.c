/* What the kernel and a target's memory say of the other side of waits: links and fdinfo of
 * descriptors, tables of sockets, answers of sock_diag(7), the bytes around a futex's word.  The
 * first byte says which. */
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/bytes_mem.h"
#include "waits/descriptor.h"
#include "waits/futex_lock.h"
#include "waits/net_diag.h"
#include "waits/unix_peer.h"

enum { MOST = 4 };

static void read_link(const char *text)
{
    uint64_t inode;
    enum descriptor_kind kind = descriptor_parse_link(text, &inode);
    FUZZ_CHECK(!inode || kind == DESCRIPTOR_PIPE || kind == DESCRIPTOR_SOCKET);
}

static void read_fdinfo(const char *text)
{
    struct epoll_item items[MOST];
    struct file_lock locks[MOST];
    FUZZ_CHECK(descriptor_access(text) >= -1 && descriptor_access(text) <= 3);
    FUZZ_CHECK(descriptor_pidfd(text) >= 0);
    FUZZ_CHECK(descriptor_epoll_items(text, items, MOST) <= strlen(text));
    size_t n = descriptor_locks(text, locks, MOST);
    FUZZ_CHECK(n <= MOST);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(locks[i].kind <= FILE_LOCK_FLOCK);
}

static void read_socket(const char *text, size_t len, bool v6)
{
    struct net_socket socket;
    struct text address = {0};
    if (net_socket_parse(text, len, v6, &socket) < 0)
        return;
    FUZZ_CHECK(socket.state < 16 && socket.local.v6 == v6);
    net_address_add(&address, &socket.local);
    net_address_add(&address, &socket.remote);
    FUZZ_CHECK(is_plain_text(address.s, address.len));
    text_release(&address);
}

static void read_answer(const char *bytes, size_t len)
{
    struct net_socket tcp;
    bool is_socket;
    int used = net_diag_parse(bytes, len, &tcp, &is_socket);
    FUZZ_CHECK(used < 0 || (used > 0 && (size_t)used <= len && (!is_socket || tcp.state < 16)));
    struct unix_socket socket;
    int r = unix_socket_parse(bytes, len, &socket);
    FUZZ_CHECK(r <= 0 && (r < 0 || strnlen(socket.path, UNIX_PATH_BYTES) < UNIX_PATH_BYTES));
}

/* Where the word is in the bytes, the call, and the bytes. */
static void decode_lock(const uint8_t *bytes, size_t len)
{
    enum { BASE = 0x10000 };
    struct feed f = {bytes, len};
    uint64_t args[6] = {BASE + feed_u8(&f), feed_u16(&f), feed_u32(&f), feed_u8(&f)};
    struct bytes_mem memory = bytes_mem_of(BASE, f.at, f.left);
    struct futex_lock lock = futex_lock_decode(args, &memory.mem);
    FUZZ_CHECK(lock.timed == (args[3] != 0));
    FUZZ_CHECK(lock.owner >= 0 && lock.owner <= (pid_t)FUTEX_TID_MASK);
    FUZZ_CHECK(!lock.owner || lock.thing == THING_MUTEX || lock.thing == THING_RWLOCK ||
               lock.thing == THING_THREAD);
    if (lock.thing == THING_MUTEX || lock.thing == THING_RWLOCK)
        FUZZ_CHECK(args[0] - lock.addr <= 12);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (!len--)
        return 0;
    uint8_t which = *bytes++;
    char *text = malloc(len + 1);
    memcpy(text, bytes, len);
    text[len] = '\0';
    switch (which % 6) {
    case 0:
        read_link(text);
        break;
    case 1:
        read_fdinfo(text);
        break;
    case 2:
    case 3:
        read_socket((const char *)bytes, len, which & 1);
        break;
    case 4:
        read_answer((const char *)bytes, len);
        break;
    default:
        decode_lock(bytes, len);
    }
    free(text);
    return 0;
}
