/* The functions of all dumps, each once: what tells one from another is its name, and its file or
 * module, but neither addresses nor lines nor what a compiler adds to a name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* ---- texts, each once ---- */

struct texts { /* zero-initialise */
    const char **items;
    size_t n, capacity;
    struct index index;
    char *block; /* where the next ones go */
    size_t left;
    struct text_block *blocks;
    uint64_t bytes;
};
/* The id of S, LEN bytes.  Where texts have used up their room it is that of "…". */
uint32_t texts_add(struct texts *t, const char *s, size_t len);
const char *texts_see(const struct texts *t, uint32_t id);
void texts_release(struct texts *t);

/* ---- functions ---- */

enum { FRAME_TEXT_BYTES = 512 };
enum fleet_frame_kind { FLEET_PYTHON, FLEET_NATIVE, FLEET_NOTE };
struct frame_in { /* as it was read */
    enum fleet_frame_kind kind;
    char name[FRAME_TEXT_BYTES];
    char file[FRAME_TEXT_BYTES];   /* a path; "": unknown */
    char module[FRAME_TEXT_BYTES]; /* of native code, "": unknown */
    uint32_t line;                 /* 0: unknown */
    bool inlined;
};

enum function_role {
    FUNCTION_IS_OWN,     /* the user's */
    FUNCTION_IS_LIBRARY, /* the standard library, installed packages, shared libraries */
    FUNCTION_IS_PASSED,  /* the C library, the interpreter, entry frames: on the way only */
};
struct function {
    uint32_t name, file; /* texts: FILE is a path's last part, or a module */
    enum function_role role;
    bool python;
    bool inlined; /* somewhere, so that a stack may be without it */
};
struct function_table { /* zero-initialise */
    struct texts texts;
    struct function *items;
    size_t n, capacity;
    struct index index;
    struct map seen; /* hash of what was read of a frame → item */
};
/* The id of the function that FRAME, which is no note, is a call of. */
uint32_t function_table_add(struct function_table *f, const struct frame_in *frame);
void function_table_release(struct function_table *f);
