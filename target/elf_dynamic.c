#include "target/elf_dynamic.h"

#include <errno.h>
#include <string.h>

enum {
    MAX_DYNAMIC_ITEMS = 4096,
    MAX_CHAIN = 1 << 16, /* real chains hold a handful */
    MAX_SYMBOL_NAME_BYTES = 512,
};

/* The dynamic linker relocates these pointers in place. */
static uint64_t unrelocated(const struct elf_layout *l, uint64_t bias, uint64_t pointer)
{
    return elf_layout_load(l, pointer) ? pointer : pointer - bias;
}

static void take_item(struct elf_dynamic *d, const struct elf_layout *l, uint64_t bias,
                      const Elf64_Dyn *item)
{
    switch (item->d_tag) {
    case DT_SYMTAB:
        d->symbols = unrelocated(l, bias, item->d_un.d_ptr);
        break;
    case DT_STRTAB:
        d->strings = unrelocated(l, bias, item->d_un.d_ptr);
        break;
    case DT_STRSZ:
        d->strings_bytes = item->d_un.d_val;
        break;
    case DT_GNU_HASH:
        d->gnu_hash = unrelocated(l, bias, item->d_un.d_ptr);
        break;
    case DT_HASH:
        d->hash = unrelocated(l, bias, item->d_un.d_ptr);
        break;
    default:
        break;
    }
}

static const struct elf_segment *find_dynamic(const struct elf_layout *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->segments[i].type == PT_DYNAMIC)
            return &l->segments[i];
    return NULL;
}

int elf_dynamic_read(struct elf_dynamic *ret, const struct elf_layout *l, elf_reader read,
                     void *ctx, uint64_t bias)
{
    const struct elf_segment *s = find_dynamic(l);
    if (!s)
        return -ENOENT;
    struct elf_dynamic d = {0};
    Elf64_Dyn item;
    size_t n = s->mem_bytes / sizeof item;
    n = n < MAX_DYNAMIC_ITEMS ? n : MAX_DYNAMIC_ITEMS;
    for (size_t i = 0; i < n; i++) {
        if (read(ctx, s->addr + i * sizeof item, &item, sizeof item) < 0)
            return -ENOENT;
        if (item.d_tag == DT_NULL)
            break;
        take_item(&d, l, bias, &item);
    }
    if (!d.symbols || !d.strings || (!d.gnu_hash && !d.hash))
        return -ENOENT;
    *ret = d;
    return 0;
}

/* The state of a look-up. */
struct lookup {
    const struct elf_dynamic *d;
    elf_reader read;
    void *ctx;
    const char *name;
    size_t name_bytes; /* with the NUL */
};

static bool read_u32(const struct lookup *k, uint64_t table, uint64_t item, uint32_t *ret)
{
    return k->read(k->ctx, table + item * sizeof *ret, ret, sizeof *ret) == 0;
}

/* Is symbol number I, defined here, the one? */
static bool symbol_matches(const struct lookup *k, uint32_t i, struct addr_range *ret)
{
    Elf64_Sym symbol;
    char name[MAX_SYMBOL_NAME_BYTES];
    if (k->read(k->ctx, k->d->symbols + i * sizeof symbol, &symbol, sizeof symbol) < 0 ||
        symbol.st_shndx == SHN_UNDEF || symbol.st_name >= k->d->strings_bytes ||
        k->read(k->ctx, k->d->strings + symbol.st_name, name, k->name_bytes) < 0 ||
        memcmp(name, k->name, k->name_bytes) != 0)
        return false;
    *ret = (struct addr_range){symbol.st_value, symbol.st_size};
    return true;
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (uint8_t)*name;
    return h;
}

/* u32 buckets_n, first_symbol, bloom_n, bloom_shift; u64 bloom[]; u32 buckets[]; u32 chain[], which
 * starts at FIRST_SYMBOL and holds each symbol's hash, bit 0 set at the end of a bucket. */
static int find_by_gnu_hash(const struct lookup *k, struct addr_range *ret)
{
    uint32_t head[4];
    if (k->read(k->ctx, k->d->gnu_hash, head, sizeof head) < 0 || head[0] == 0)
        return -ENOENT;
    uint32_t hash = gnu_hash_of(k->name);
    uint64_t buckets = k->d->gnu_hash + sizeof head + head[2] * sizeof(uint64_t);
    uint64_t chain = buckets + head[0] * sizeof(uint32_t);
    uint32_t i;
    if (!read_u32(k, buckets, hash % head[0], &i) || i < head[1])
        return -ENOENT;
    for (uint32_t steps = 0; steps < MAX_CHAIN; steps++, i++) {
        uint32_t item;
        if (!read_u32(k, chain, i - head[1], &item))
            return -ENOENT;
        if ((item | 1) == (hash | 1) && symbol_matches(k, i, ret))
            return 0;
        if (item & 1)
            return -ENOENT;
    }
    return -ENOENT;
}

static uint32_t sysv_hash_of(const char *name)
{
    uint32_t h = 0;
    for (; *name; name++) {
        h = (h << 4) + (uint8_t)*name;
        uint32_t high = h & 0xf0000000;
        h = (h ^ high >> 24) & ~high;
    }
    return h;
}

/* u32 buckets_n, chains_n, buckets[], chains[]: links by symbol number, 0 ends. */
static int find_by_sysv_hash(const struct lookup *k, struct addr_range *ret)
{
    uint32_t head[2];
    if (k->read(k->ctx, k->d->hash, head, sizeof head) < 0 || head[0] == 0)
        return -ENOENT;
    uint64_t buckets = k->d->hash + sizeof head;
    uint64_t chains = buckets + head[0] * sizeof(uint32_t);
    uint32_t i;
    if (!read_u32(k, buckets, sysv_hash_of(k->name) % head[0], &i))
        return -ENOENT;
    for (uint32_t steps = 0; i && steps < MAX_CHAIN; steps++) {
        if (symbol_matches(k, i, ret))
            return 0;
        if (!read_u32(k, chains, i, &i))
            return -ENOENT;
    }
    return -ENOENT;
}

int elf_dynamic_symbol(const struct elf_dynamic *d, elf_reader read, void *ctx, const char *name,
                       struct addr_range *ret)
{
    struct lookup k = {d, read, ctx, name, strlen(name) + 1};
    if (k.name_bytes > MAX_SYMBOL_NAME_BYTES)
        return -ENOENT;
    return d->gnu_hash ? find_by_gnu_hash(&k, ret) : find_by_sysv_hash(&k, ret);
}

/* One more than the number of the last symbol in the last chain: the table has each bucket's
 * first symbol. */
static uint32_t count_by_gnu_hash(const struct lookup *k)
{
    uint32_t head[4];
    if (k->read(k->ctx, k->d->gnu_hash, head, sizeof head) < 0)
        return 0;
    uint64_t buckets = k->d->gnu_hash + sizeof head + head[2] * sizeof(uint64_t);
    uint64_t chain = buckets + head[0] * sizeof(uint32_t);
    uint32_t last = 0;
    uint32_t i;
    for (uint32_t b = 0; b < head[0] && b < ELF_MAX_DYNAMIC_SYMBOLS; b++)
        if (read_u32(k, buckets, b, &i) && i > last)
            last = i;
    if (!last || last < head[1])
        return 0;
    for (uint32_t item = 0; !(item & 1) && last < ELF_MAX_DYNAMIC_SYMBOLS; last++)
        if (!read_u32(k, chain, last - head[1], &item))
            break;
    return last;
}

uint32_t elf_dynamic_count(const struct elf_dynamic *d, elf_reader read, void *ctx)
{
    struct lookup k = {.d = d, .read = read, .ctx = ctx};
    uint32_t n = 0;
    if (d->gnu_hash)
        n = count_by_gnu_hash(&k);
    else if (!read_u32(&k, d->hash, 1, &n))
        n = 0;
    return n < ELF_MAX_DYNAMIC_SYMBOLS ? n : ELF_MAX_DYNAMIC_SYMBOLS;
}
