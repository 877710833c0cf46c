/* The rows of a fixture, by the fields of the profile's structs. */
#pragma once

#include "profile/profile.h"
#include "tests/support/fixture_line.h"

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
    ROW_PROCESS,
    ROW_CHILD,
    ROW_THREAD,
    ROW_COUNTS,
    ROW_RUN,
    ROW_LOCK,
    ROW_TASKS,
    ROW_KINDS,
};
struct row_keys {
    const struct field *fields;
    size_t n;
};
extern const struct row_keys row_keys[ROW_KINDS];
