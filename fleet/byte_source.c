#include "fleet/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"

enum { WINDOW_BYTES = 1 << 18 };

int byte_source_open(struct byte_source *ret, const char *path)
{
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    if (fd < 0)
        return -errno;
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        (void)close(fd);
        return -ENOMEM;
    }
    (void)gzbuffer(file, WINDOW_BYTES);
    *ret = (struct byte_source){.file = file, .window = xmalloc(WINDOW_BYTES)};
    ret->at = ret->end = ret->window;
    return 0;
}

void byte_source_of_bytes(struct byte_source *ret, const char *s, size_t len)
{
    *ret = (struct byte_source){.at = s, .end = s + len, .ended = true};
}

static int error_of(gzFile file)
{
    int code = Z_OK;
    (void)gzerror(file, &code);
    if (code == Z_ERRNO)
        return errno ? -errno : -EIO;
    return code == Z_OK || code == Z_STREAM_END ? 0 : -EBADMSG;
}

/* Moves what is left to the window's beginning, and reads behind it. */
static void read_on(struct byte_source *s)
{
    size_t left = (size_t)(s->end - s->at);
    if (left && s->at != s->window)
        memmove(s->window, s->at, left);
    s->reads++;
    int n = gzread(s->file, s->window + left, (unsigned)(WINDOW_BYTES - left));
    s->at = s->window;
    s->end = s->window + left + (n > 0 ? n : 0);
    if (n > 0)
        return;
    s->ended = true;
    s->error = error_of(s->file);
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

void byte_source_close(struct byte_source *s)
{
    if (s->file)
        (void)gzclose(s->file);
    free(s->window);
    *s = (struct byte_source){0};
}
