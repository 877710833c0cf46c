#include "target/environ.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "target/modules_private.h"

enum { MAX_STRINGS = 1024, PAGE_BYTES = 4096 };

static size_t to_page_end(uint64_t addr)
{
    return PAGE_BYTES - addr % PAGE_BYTES;
}

/* ---- where ---- */

static bool is_c_library(const struct module *m)
{
    return str_starts(m->name, "libc.so") || str_starts(m->name, "libc-") ||
           str_starts(m->name, "libc.musl") || str_starts(m->name, "ld-musl");
}

static uint64_t symbol_of(struct modules *m, struct module_entry *e)
{
    uint64_t addr = 0;
    return modules_symbol(m, e, "environ", &addr) == 0 ? addr : 0;
}

/* A program that uses it has the variable itself: the linker lets the library use that
 * (a COPY relocation). */
uint64_t environ_address(struct modules *m)
{
    const struct module *program = modules_executable(m);
    uint64_t addr = program ? symbol_of(m, m->entries[program->id]) : 0;
    for (size_t i = 0; i < m->active_n && !addr; i++)
        if (is_c_library(&m->active[i].entry->module))
            addr = symbol_of(m, m->active[i].entry);
    return addr;
}

/* ---- what ---- */

struct strings_at {
    uint64_t array;
    uint64_t at[MAX_STRINGS]; /* without the 0 at the end */
    size_t n;
};

/* False: it cannot be read, or is too long. */
static bool read_array(struct mem *live, uint64_t address, struct strings_at *ret)
{
    ret->n = 0;
    if (mem_read_u64(live, address, &ret->array) < 0 || !ret->array || ret->array % 8)
        return false;
    while (ret->n < MAX_STRINGS) {
        uint64_t addr = ret->array + ret->n * sizeof *ret->at;
        size_t n = to_page_end(addr) / sizeof *ret->at;
        if (n > MAX_STRINGS - ret->n)
            n = MAX_STRINGS - ret->n;
        if (mem_read(live, addr, &ret->at[ret->n], n * sizeof *ret->at) < 0)
            return false;
        for (size_t end = ret->n + n; ret->n < end; ret->n++)
            if (!ret->at[ret->n])
                return true;
    }
    return false;
}

static uint64_t hash_of(const struct strings_at *s)
{
    uint64_t hash = hash_bytes(s->at, s->n * sizeof *s->at) ^ hash_u64(s->array);
    return hash ? hash : 1;
}

/* A string that ends within RET.  It may begin shortly before memory that cannot be read. */
static bool read_string(struct mem *live, uint64_t addr, char ret[ENVIRON_STRING_BYTES])
{
    size_t first = to_page_end(addr);
    if (first > ENVIRON_STRING_BYTES)
        first = ENVIRON_STRING_BYTES;
    size_t rest = ENVIRON_STRING_BYTES - first;
    if (mem_read(live, addr, ret, first) < 0)
        return false;
    if (memchr(ret, '\0', first))
        return true;
    return rest && mem_read(live, addr + first, ret + first, rest) == 0 &&
           memchr(ret, '\0', ENVIRON_STRING_BYTES);
}

bool environ_read(struct mem *live, uint64_t address, uint64_t *seen,
                  void (*each)(void *ctx, const char *string), void *ctx)
{
    struct strings_at before;
    struct strings_at after;
    if (!read_array(live, address, &before) || hash_of(&before) == *seen)
        return false;
    for (size_t i = 0; i < before.n; i++) {
        char string[ENVIRON_STRING_BYTES];
        if (read_string(live, before.at[i], string))
            each(ctx, string);
    }
    if (!read_array(live, address, &after) || hash_of(&after) != hash_of(&before))
        return false;
    *seen = hash_of(&after);
    return true;
}
