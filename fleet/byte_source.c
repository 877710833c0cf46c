#include "fleet/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"

enum {
    WINDOW_BYTES = 1 << 18,
    MOST_BARREN_BYTES = 64 << 20,
    PATIENCE_S = 120,
    MS_PER_S = 1000,
};
#define PATIENCE_WORDS "nothing came for 120 s"
/* Of a gigabyte a second that is a minute. */
static const uint64_t most_bytes = UINT64_C(1) << 36;

struct byte_input {
    int fd;
    bool begun, compressed, ended;
    bool between; /* the next byte begins a member of gzip's, if there is one */
    z_stream zlib;
    unsigned char raw[WINDOW_BYTES]; /* compressed bytes; zlib.next_in is in it */
};

/* ---- open ---- */

int byte_source_open(struct byte_source *ret, const char *path)
{
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                  : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    *ret = (struct byte_source){.input = xcalloc(1, sizeof *ret->input),
                                .window = xmalloc(WINDOW_BYTES),
                                .patience_ms = PATIENCE_S * MS_PER_S};
    ret->input->fd = fd;
    ret->at = ret->end = ret->window;
    return 0;
}

void byte_source_of_bytes(struct byte_source *ret, const char *s, size_t len)
{
    *ret = (struct byte_source){.at = s, .end = s + len, .ended = true};
}

void byte_source_close(struct byte_source *s)
{
    if (s->input) {
        (void)inflateEnd(&s->input->zlib);
        (void)close(s->input->fd);
    }
    free(s->input);
    free(s->window);
    *s = (struct byte_source){0};
}

/* ---- read ---- */

static void end_as(struct byte_source *s, const char *wrong)
{
    s->ended = true;
    s->wrong = wrong;
}

/* Reads up to LEN bytes as they are, once there are any.  0: there are no more. */
static size_t read_raw(struct byte_source *s, void *to, size_t len)
{
    enum { MOST_TRIES = 100 };
    struct byte_input *in = s->input;
    for (int tries = 0;; tries++) {
        struct pollfd ready = {.fd = in->fd, .events = POLLIN};
        int r = poll(&ready, 1, s->patience_ms);
        ssize_t n = r > 0 ? read(in->fd, to, len) : -1;
        if (n > 0)
            return (size_t)n;
        if (r != 0 && n < 0 && (errno == EINTR || errno == EAGAIN) && tries < MOST_TRIES)
            continue;
        in->ended = true;
        if (r == 0)
            end_as(s, PATIENCE_WORDS);
        else if (n < 0)
            end_as(s, strerror(errno));
        return 0;
    }
}

/* Fills the raw bytes anew when all of them are used up. */
static void read_compressed(struct byte_source *s)
{
    struct byte_input *in = s->input;
    if (in->zlib.avail_in || in->ended)
        return;
    in->zlib.next_in = in->raw;
    in->zlib.avail_in = (uInt)read_raw(s, in->raw, sizeof in->raw);
}

/* The first bytes say whether they are compressed; two are awaited. */
static void begin(struct byte_source *s)
{
    enum { GZIP = 16 };
    struct byte_input *in = s->input;
    size_t n = 0;
    while (n < 2 && !in->ended)
        n += read_raw(s, in->raw + n, sizeof in->raw - n);
    in->begun = true;
    in->zlib.next_in = in->raw;
    in->zlib.avail_in = (uInt)n;
    in->compressed = n >= 2 && in->raw[0] == 0x1f && in->raw[1] == 0x8b;
    if (in->compressed && inflateInit2(&in->zlib, MAX_WBITS + GZIP) != Z_OK)
        end_as(s, "there is no memory to decompress it");
}

/* Members of gzip's may follow one another; other bytes behind one are none. */
static bool ends_between(struct byte_source *s)
{
    struct byte_input *in = s->input;
    if (!in->between)
        return false;
    if (!in->zlib.avail_in || *in->zlib.next_in != 0x1f) {
        s->ended = true;
        return true;
    }
    in->between = false;
    (void)inflateReset(&in->zlib);
    return false;
}

static size_t inflate_some(struct byte_source *s, char *to, size_t len)
{
    struct byte_input *in = s->input;
    in->zlib.next_out = (unsigned char *)to;
    in->zlib.avail_out = (uInt)len;
    while (in->zlib.avail_out == len && !s->ended) {
        read_compressed(s);
        if (s->ended || ends_between(s))
            break;
        if (!in->zlib.avail_in) {
            end_as(s, "its compressed bytes end too early");
            break;
        }
        int r = inflate(&in->zlib, Z_NO_FLUSH);
        in->between = r == Z_STREAM_END;
        if (r != Z_OK && r != Z_STREAM_END)
            end_as(s, "its compressed bytes are damaged");
    }
    return len - in->zlib.avail_out;
}

static size_t read_some(struct byte_source *s, char *to, size_t len)
{
    struct byte_input *in = s->input;
    if (!in->begun)
        begin(s);
    if (in->compressed)
        return inflate_some(s, to, len);
    if (in->zlib.avail_in) { /* what begin() has read */
        size_t n = in->zlib.avail_in < len ? in->zlib.avail_in : len;
        memcpy(to, in->zlib.next_in, n);
        in->zlib.next_in += n;
        in->zlib.avail_in -= (uInt)n;
        return n;
    }
    return in->ended ? 0 : read_raw(s, to, len);
}

/* Moves what is left to the window's beginning, and reads behind it. */
static void read_on(struct byte_source *s)
{
    size_t left = (size_t)(s->end - s->at);
    if (left && s->at != s->window)
        memmove(s->window, s->at, left);
    s->reads++;
    size_t n = read_some(s, s->window + left, WINDOW_BYTES - left);
    s->at = s->window;
    s->end = s->window + left + n;
    s->all += n;
    s->barren += n;
    if (n == 0)
        s->ended = true;
    else if (s->barren > MOST_BARREN_BYTES)
        end_as(s, "there is no dump in 64 MiB of it");
    else if (s->all > most_bytes)
        end_as(s, "it is larger than 64 GiB: only these are counted");
}

bool byte_source_more(struct byte_source *s)
{
    while (s->at == s->end && !s->ended)
        read_on(s);
    return s->at < s->end;
}

size_t byte_source_ahead(struct byte_source *s, size_t wanted)
{
    while ((size_t)(s->end - s->at) < wanted && !s->ended && wanted <= WINDOW_BYTES / 2)
        read_on(s);
    return (size_t)(s->end - s->at);
}
