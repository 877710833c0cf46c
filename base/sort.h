/* qsort(3) for arrays that are mostly in order already: for such an array it takes one pass. */
#pragma once

#include <stddef.h>

void sort_if_needed(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));
