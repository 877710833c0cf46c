/* The catalogue of fields: what each kind of row of a profile holds, by key, type and place in its
 * struct.  Recordings (recording/) and the fixtures of tests are written and read by it, so that a
 * new fact is a row here and nowhere else.  Only raw facts: what the profile derives is derived
 * anew. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/moments.h"
#include "profile/profile.h"

enum field_type {
    FIELD_BOOL,
    FIELD_INT,
    FIELD_UINT,
    FIELD_ID, /* of another row; 0: none */
    FIELD_I64,
    FIELD_U64,
    FIELD_DOUBLE,
    FIELD_STRING, /* a string_id */
    FIELD_TEXT,   /* a `char *`, of the heap when it was read; NULL: none.  No field of a profile */
    FIELD_WORD,   /* an enum, by its words */
};
struct field {
    const char *key;
    size_t at;
    enum field_type type;
    const char *const *words; /* WORD: by value; ends in NULL */
};
#define FIELD_TYPE(value)                                                                          \
    _Generic((value),                                                                              \
        bool: FIELD_BOOL,                                                                          \
        int32_t: FIELD_INT,                                                                        \
        uint32_t: FIELD_UINT,                                                                      \
        int64_t: FIELD_I64,                                                                        \
        uint64_t: FIELD_U64,                                                                       \
        double: FIELD_DOUBLE,                                                                      \
        string_id: FIELD_STRING,                                                                   \
        char *: FIELD_TEXT,                                                                        \
        module_id: FIELD_ID,                                                                     \
        func_id: FIELD_ID,                                                                       \
        frame_id: FIELD_ID,                                                                      \
        stack_id: FIELD_ID,                                                                      \
        process_id: FIELD_ID,                                                                    \
        mount_id: FIELD_ID)
#define FIELD_AS(key, of, member)                                                                  \
    {                                                                                              \
        key, offsetof(of, member), FIELD_TYPE(((of *)0)->member), NULL                             \
    }
#define FIELD(of, member) FIELD_AS(#member, of, member)
#define FIELD_WORDS(of, member, words)                                                             \
    {                                                                                              \
#member, offsetof(of, member), FIELD_WORD, words                                           \
    }

/* Places in structs of the profile, if not said otherwise: ROW_FRAME in struct frame, and so on. */
enum row_kind {
    ROW_HOST,
    ROW_MOUNT,
    ROW_MODULE,
    ROW_FUNC,
    ROW_FRAME, /* without what only one kind of frame has */
    ROW_NATIVE,
    ROW_PYTHON,
    ROW_MARK,
    ROW_LOCATION,
    ROW_WAIT,
    ROW_WAIT_LIST, /* what a wait's list lacks */
    ROW_BLOCKER,
    ROW_PROCESS,
    ROW_CHILD,
    ROW_THREAD,
    ROW_COUNTS,
    ROW_RUN_START,
    ROW_RUN, /* the rest, without its thread, stack and wait */
    ROW_LOCK,
    ROW_LISTENER,
    ROW_TASKS,
    ROW_USER_MARK, /* in struct user_mark */
    ROW_USER_PAUSE,
    ROW_KINDS,
};
struct row_keys {
    const struct field *fields;
    size_t n;
};
extern const struct row_keys row_keys[ROW_KINDS];
/* Words of fields, by value. */
extern const char *const field_fates[];
extern const char *const field_queues[];
