#include "worker/backlog.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
    BACKLOG_BYTES = 256 << 20, /* four times the ring */
    PAUSE_NS = 5 * NS_PER_MS,  /* the ring is not full in that time: it holds 64 MiB */
};

struct stored_message {
    struct stored_message *next;
    size_t bytes;
    _Alignas(max_align_t) unsigned char message[];
};

/* False: there is none, or no room for it. */
static bool move_one(struct backlog *b)
{
    size_t bytes;
    const void *message = ring_peek(b->ring, &bytes);
    if (!message || b->bytes + bytes > BACKLOG_BYTES)
        return false;
    struct stored_message *stored = malloc(sizeof *stored + bytes);
    if (!stored)
        return false;
    stored->next = NULL;
    stored->bytes = bytes;
    memcpy(stored->message, message, bytes);
    ring_release(b->ring);
    *b->end = stored;
    b->end = &stored->next;
    b->bytes += bytes;
    return true;
}

static void *backlog_main(void *backlog)
{
    struct backlog *b = backlog;
    while (!atomic_load(&b->stop))
        if (!move_one(b))
            clock_sleep(PAUSE_NS);
    return NULL;
}

void backlog_begin(struct backlog *b, struct ring *ring)
{
    sigset_t all;
    sigset_t old;
    b->ring = ring;
    if (!b->first)
        b->end = &b->first;
    atomic_store(&b->stop, false);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    b->started = pthread_create(&b->thread, NULL, backlog_main, b) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void backlog_end(struct backlog *b)
{
    atomic_store(&b->stop, true);
    if (b->started)
        (void)pthread_join(b->thread, NULL);
    b->started = false;
}

const void *backlog_peek(const struct backlog *b, struct ring *ring, size_t *ret_bytes)
{
    if (!b->first)
        return ring_peek(ring, ret_bytes);
    *ret_bytes = b->first->bytes;
    return b->first->message;
}

void backlog_release(struct backlog *b, struct ring *ring)
{
    struct stored_message *first = b->first;
    if (!first) {
        ring_release(ring);
        return;
    }
    b->first = first->next;
    b->bytes -= first->bytes;
    free(first);
}

void backlog_release_all(struct backlog *b)
{
    backlog_end(b);
    while (b->first)
        backlog_release(b, NULL);
}
