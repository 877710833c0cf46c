/* Allocation that cannot fail: out of memory ends wallspy (the kernel then lets our tracees go).
 * All assert that no thread of the target is held (base/hold.h). */
#pragma once

#include <stddef.h>

void *xmalloc(size_t bytes) __attribute__((malloc));
void *xcalloc(size_t n, size_t bytes) __attribute__((malloc));
void *xrealloc(void *old, size_t bytes);
char *xstrdup(const char *s) __attribute__((malloc));
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends wallspy because memory is used up, as the functions above do.  For allocators of
 * libraries. */
_Noreturn void alloc_failed(void);

/* Makes room for NEED items of ITEM_BYTES in the array ITEMS of *CAPACITY items, doubling.
 * Returns the array, moved or not; new items are not cleared. */
void *array_reserve(void *items, size_t *capacity, size_t need, size_t item_bytes);
