/* A memory that keeps a copy of all bytes that are read through it.
 *
 * During a capture the stack and the hook's reads go straight into the message, so that the worker
 * can read them again.  Reads are made in aligned blocks: neighbours cost nothing, and the blocks
 * of a thread's last capture are fetched in one system call, ahead of the hook. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/snapshot.h"
#include "target/mem.h"

enum {
    RECORDER_BLOCK_BYTES = 256, /* divides a page, so a block is mapped whole or not at all */
    RECORDER_MAX_BLOCKS = 4096, /* 1 MiB: some 2,000 Python frames on the heap; more is cut */
    RECORDER_MAX_SPANS = 128,   /* of a prefetch list; process_vm_readv takes IOV_MAX (1024) */
    RECORDER_INDEX_SLOTS = 2 * RECORDER_MAX_BLOCKS,
    RECORDER_GAP_BYTES = 1024, /* are copied: another span takes as long as 1 to 3 KiB */
};

/* The blocks that a thread's last capture needed, as spans in order of address. */
struct prefetch {
    struct {
        uint64_t addr;
        uint32_t len;
    } spans[RECORDER_MAX_SPANS];
    uint32_t n;
    uint32_t wanted; /* blocks of them that a reader asked for */
};

struct recorder {
    struct mem mem; /* give this to readers */
    struct mem *live;
    uint8_t *base; /* the message; ranges' offsets count from here */
    size_t used, capacity;
    struct snapshot_range ranges[RECORDER_MAX_BLOCKS];
    uint32_t n_ranges;
    uint64_t stack_start, stack_end; /* recorded stack */
    uint32_t stack_offset;
    /* Block → its bytes.  A slot is in use if its epoch is the present one. */
    struct {
        uint64_t block;
        uint32_t offset, epoch;
        bool wanted; /* a reader asked for it; false: it was only prefetched */
    } index[RECORDER_INDEX_SLOTS];
    uint64_t wanted[RECORDER_MAX_BLOCKS]; /* blocks that readers asked for, in order */
    uint32_t n_wanted;
    uint32_t n_blocks;  /* in the index */
    uint32_t n_fetched; /* of these, when a reader asked: not ahead */
    uint32_t epoch;
    uint64_t reads; /* system calls made, for --stats */
};

void recorder_init(struct recorder *r);
/* Starts a capture into BASE[USED, CAPACITY), reading from LIVE. */
void recorder_begin(struct recorder *r, struct mem *live, void *base, size_t used, size_t capacity);
/* Copies the stack from SP upwards, at most MAX bytes, the red zone below SP as far as it is in
 * the page of SP, and the spans of PREFETCH, in one system call if all is still mapped.  Returns
 * the bytes from SP on: fewer than MAX where the mapping ends. */
size_t recorder_read_stack(struct recorder *r, uint64_t sp, size_t max,
                           const struct prefetch *prefetch);
/* The recorded stack's bytes from SP on. */
const uint8_t *recorder_stack_at(const struct recorder *r, uint64_t sp);
/* Copies the part of [ADDR, ADDR + MAX) that is not recorded yet.  Returns how many bytes from ADDR
 * on are recorded: fewer than MAX where the mapping ends, or without room. */
size_t recorder_read_more(struct recorder *r, uint64_t addr, size_t max);
/* Adds LEN bytes of the caller's to the message.  False: there is no room. */
bool recorder_append(struct recorder *r, const void *bytes, size_t len, uint32_t *ret_offset);
/* Ends the capture: puts the ranges behind the bytes.  Returns the message's length; 0: the ranges
 * do not fit. */
size_t recorder_finish(struct recorder *r, uint32_t *ret_ranges_offset, uint32_t *ret_count);
/* After a capture that began with PREFETCH: fills PREFETCH with the blocks that readers asked for.
 * Not in a hold, because it may sort thousands. */
void recorder_remember(struct recorder *r, struct prefetch *prefetch);
