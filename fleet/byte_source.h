/* The bytes of an input, in order, plain or compressed by gzip.  Only a window of them is in
 * memory, so that a pipe may bring more than that.  Whatever the input is, it ends: where nothing
 * comes any more, where no dump comes, and where it is too large. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AT to END is what is read and not yet taken; who takes bytes moves AT. */
struct byte_source {
    const char *at, *end;
    char *window;
    struct byte_input *input; /* NULL: the bytes are all in memory */
    const char *wrong;        /* why the bytes end here; NULL: this is their end */
    bool ended;               /* no more will come */
    unsigned reads;           /* how often the window has moved */
    uint64_t all, barren;     /* bytes so far; those since the last byte_source_bears() */
    int patience_ms;          /* for so long it waits for the next bytes of a pipe */
};

/* Opens PATH, or, with NULL, standard input.  A pipe that nobody writes is no reason to wait here.
 * Returns 0 or a negative errno; then nothing is to be closed. */
int byte_source_open(struct byte_source *ret, const char *path);
/* Reads from memory: LEN bytes at S, which must outlive RET. */
void byte_source_of_bytes(struct byte_source *ret, const char *s, size_t len);
/* Is there another byte at AT?  Reads on if need be; pointers into the window are no longer valid
 * then. */
bool byte_source_more(struct byte_source *s);
/* Makes at least WANTED bytes stand from AT on, fewer only at the end; at most a window's half. */
size_t byte_source_ahead(struct byte_source *s, size_t wanted);
/* What was taken last is part of a dump: others may follow.  Without this 64 MiB are enough. */
static inline void byte_source_bears(struct byte_source *s)
{
    s->barren = 0;
}
void byte_source_close(struct byte_source *s);
