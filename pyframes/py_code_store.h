/* What code objects of several processes have in common: forked workers run the same ones, at the
 * same addresses, but each may free one and make another.  So each process checks its own
 * (py_code.h), and they share what was read from equal ones.  Used by the worker. */
#pragma once

#include "base/hash.h"
#include "profile/profile.h"
#include "pyframes/py_linetable.h"

struct py_code_store;
struct py_code_store *py_code_store_new(void);
struct py_code_store *py_code_store_free(struct py_code_store *s); /* NULL is fine; returns NULL */

/* A line table, and what was looked up in it. */
struct py_lines {
    func_id func;
    enum py_linetable_kind kind;
    int32_t first_line;
    uint8_t *table;
    size_t table_len;
    struct map frames; /* byte offset of an instruction → frame_id */
    size_t users;      /* that py_lines_drop() is still to be called for */
    uint64_t hash;
    struct py_code_store *store;
    struct py_lines *before, *after; /* of the store's, in no order */
};

/* Those that are equal to WANTED, whose table, on the heap, is taken over; its other members from
 * frames on do not count. */
struct py_lines *py_lines_take(struct py_code_store *s, const struct py_lines *wanted);
/* Keeps that the instruction at OFFSET is FRAME. */
void py_lines_keep(struct py_lines *lines, uint32_t offset, frame_id frame);
/* Forgets all frames if there are too many for any ordinary programs. */
void py_code_store_trim(struct py_code_store *s);
size_t py_code_store_frames(const struct py_code_store *s); /* that are kept */
/* The last user of LINES frees them.  NULL is fine; returns NULL. */
struct py_lines *py_lines_drop(struct py_lines *lines);

/* BYTES of memory, of anybody who needs some for a moment.  They stay where they are until more are
 * asked for. */
uint8_t *py_code_store_scratch(struct py_code_store *s, size_t bytes);
