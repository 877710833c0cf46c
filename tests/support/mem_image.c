#include "tests/support/mem_image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"

/* A larger one is a fault of the test. */
static const size_t IMAGE_MAX_BYTES = (size_t)1 << 30;

struct image_range {
    uint64_t addr;
    size_t len;
    size_t at; /* its bytes in the image's */
};

struct mem_image {
    struct mem mem;
    struct image_range *ranges; /* while sorted: by address, not overlapping */
    size_t n, capacity;
    uint8_t *bytes;
    size_t bytes_n, bytes_capacity;
    bool sorted;
};

static int compare_ranges(const void *a, const void *b)
{
    const struct image_range *x = a;
    const struct image_range *y = b;
    return compare_u64(x->addr, y->addr);
}

/* Sorts, and cuts from each range what the ones before it hold already. */
static void image_sort(struct mem_image *image)
{
    if (image->sorted)
        return;
    if (image->n > 1)
        qsort(image->ranges, image->n, sizeof *image->ranges, compare_ranges);
    size_t kept = 0;
    uint64_t end = 0; /* last address of those kept, + 1 */
    for (size_t i = 0; i < image->n; i++) {
        struct image_range r = image->ranges[i];
        size_t known = r.addr < end ? (size_t)(end - r.addr) : 0;
        if (known >= r.len)
            continue;
        image->ranges[kept++] = (struct image_range){r.addr + known, r.len - known, r.at + known};
        end = r.addr + r.len;
    }
    image->n = kept;
    image->sorted = true;
}

/* The first range that ends above ADDR; image->n: none. */
static size_t image_find(const struct mem_image *image, uint64_t addr)
{
    size_t low = 0;
    size_t high = image->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (image->ranges[mid].addr + image->ranges[mid].len <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int image_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct mem_image *image = (struct mem_image *)m;
    image_sort(image);
    uint8_t *out = buf;
    for (size_t i = image_find(image, addr); len; i++) {
        if (i == image->n || image->ranges[i].addr > addr)
            return -EFAULT;
        const struct image_range *r = &image->ranges[i];
        size_t skip = (size_t)(addr - r->addr);
        size_t n = r->len - skip < len ? r->len - skip : len;
        memcpy(out, image->bytes + r->at + skip, n);
        out += n;
        addr += n;
        len -= n;
    }
    return 0;
}

static void image_free(struct mem *m)
{
    struct mem_image *image = (struct mem_image *)m;
    free(image->ranges);
    free(image->bytes);
    free(image);
}

static const struct mem_ops image_ops = {.read = image_read, .free = image_free};

struct mem *mem_image_new(void)
{
    struct mem_image *image = xcalloc(1, sizeof *image);
    image->mem.ops = &image_ops;
    return &image->mem;
}

int mem_image_add(struct mem *m, uint64_t addr, const void *bytes, size_t len)
{
    struct mem_image *image = (struct mem_image *)m;
    if (len > IMAGE_MAX_BYTES - image->bytes_n || addr > UINT64_MAX - len)
        return -EINVAL;
    if (!len)
        return 0;
    image->ranges =
        array_reserve(image->ranges, &image->capacity, image->n + 1, sizeof *image->ranges);
    image->bytes =
        array_reserve(image->bytes, &image->bytes_capacity, image->bytes_n + len, sizeof(uint8_t));
    image->ranges[image->n++] = (struct image_range){addr, len, image->bytes_n};
    memcpy(image->bytes + image->bytes_n, bytes, len);
    image->bytes_n += len;
    image->sorted = false;
    return 0;
}
