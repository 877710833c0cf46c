/* qsort(3) for what mostly is in order already, and then costs a look. */
#pragma once

#include <stddef.h>

void sort_if_needed(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));
