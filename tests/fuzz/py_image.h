/* A process with a CPython in it, made of an input: two threads, frames, code objects and their
 * strings as they ought to be, then whatever the input changes, field by field or anywhere, at once
 * or in the middle of being read.  Pure: the memory is this arena and nothing else. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pyframes/py_layout.h"
#include "target/mem.h"
#include "tests/fuzz/fuzz.h"

enum {
    IMAGE_BASE = 0x100000,
    IMAGE_BYTES = 0x10000,
    IMAGE_INTERP = IMAGE_BASE + 0x2000,
    IMAGE_THREAD = IMAGE_BASE + 0x6000, /* the second one follows IMAGE_THREAD_BYTES later */
    IMAGE_THREAD_BYTES = 0x400,
    IMAGE_STACK = IMAGE_BASE + 0x7000, /* of C: cframes and shims */
    IMAGE_STACK_BYTES = 0x1000,
    IMAGE_FRAMES = IMAGE_BASE + 0x8000,
    IMAGE_CODE = IMAGE_BASE + 0x9000,
    IMAGE_NAMES = IMAGE_BASE + 0xb000,
    IMAGE_TABLES = IMAGE_BASE + 0xd000,
    IMAGE_TYPE = IMAGE_BASE + 0xe000,
    IMAGE_GIL = IMAGE_BASE + 0xe100,
    IMAGE_PTHREAD = IMAGE_BASE + 0xe800,
    IMAGE_TID = 77,
    IMAGE_ITEMS = 8, /* frames, code objects, names, tables */
    IMAGE_FIELDS = 256,
};

struct py_image {
    struct mem mem;
    struct py_runtime rt;
    uint8_t bytes[IMAGE_BYTES];
    uint64_t fields[IMAGE_FIELDS]; /* addresses worth changing */
    size_t n_fields;
    size_t reads;
    struct feed torn; /* changes that come when so many reads were made */
    size_t torn_at;   /* SIZE_MAX: none */
};

/* Takes a version and changes off F. */
void py_image_init(struct py_image *image, struct feed *f);
/* Takes more changes: the process went on. */
void py_image_change(struct py_image *image, struct feed *f);
/* An address as the input gives it: of a field, in the image, or any. */
uint64_t py_image_address(const struct py_image *image, struct feed *f);
