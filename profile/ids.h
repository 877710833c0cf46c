/* Ids of interned things.  One-member structs, so that they cannot be mixed up; ix 0 = none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t ix;
} string_id;
typedef struct {
    uint32_t ix;
} module_id;
typedef struct {
    uint32_t ix;
} func_id;
typedef struct {
    uint32_t ix;
} frame_id;
typedef struct {
    uint32_t ix;
} stack_id;
typedef struct {
    uint32_t ix;
} process_id;
typedef struct {
    uint32_t ix;
} thread_id;
typedef struct {
    uint32_t ix;
} mount_id;
