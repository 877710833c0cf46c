/* A target's memory that is some recorded ranges, which a test adds. */
#pragma once

#include "target/mem.h"

/* Recorded ranges; empty at first.  mem_image_add copies; ranges may overlap if their bytes agree.
 * It returns 0, or -EINVAL if the range wraps around or the image would become absurdly large.  The
 * first read after an addition sorts: not for two threads at once. */
struct mem *mem_image_new(void);
int mem_image_add(struct mem *m, uint64_t addr, const void *bytes, size_t len);
