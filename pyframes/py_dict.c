#include "pyframes/py_dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "pyframes/py_fixed.h"
#include "pyframes/py_string.h"

/* PyDictKeysObject, which is no PyObject. */
struct keys {
    uint64_t entries;
    size_t n, entry_bytes;
};

/* OFFSET of pyframes/py_fixed.def, behind a type pointer, from the object's start on. */
static uint64_t field(const struct py_layout *l, uint32_t offset)
{
    return l->object.type + offset;
}

static int read_word(struct mem *mem, uint64_t addr, uint64_t *ret)
{
    return mem_read_u64(mem, addr, ret);
}

/* Up to 3.10: refcnt, size, lookup function, usable, nentries, then the hash table; its size
 * decides how wide a slot is. */
static int read_old_keys(struct mem *mem, uint64_t addr, struct keys *ret)
{
    uint64_t size, n;
    int r = read_word(mem, addr + PY_OLD_KEYS_SIZE, &size);
    if (r == 0)
        r = read_word(mem, addr + PY_OLD_KEYS_USED, &n);
    if (r < 0)
        return r;
    if (size > UINT32_MAX)
        return -EPROTO;
    uint64_t width = size <= UINT8_MAX ? 1 : size <= UINT16_MAX ? 2 : 4;
    *ret = (struct keys){addr + PY_OLD_KEYS_INDICES + size * width, n, PY_ENTRY_BYTES};
    return 0;
}

/* 3.11+: refcnt, four bytes (log2 of the size, of the table's bytes, kind), version, usable,
 * nentries, then the hash table. */
static int read_new_keys(struct mem *mem, uint64_t addr, struct keys *ret)
{
    enum { MAX_LOG2 = 32 };
    uint8_t head[PY_KEYS_INDICES];
    int r = mem_read(mem, addr, head, sizeof head);
    if (r < 0)
        return r;
    uint8_t log2_bytes = head[PY_KEYS_LOG2_BYTES];
    if (log2_bytes > MAX_LOG2)
        return -EPROTO;
    bool general = head[PY_KEYS_KIND] == PY_KEYS_KIND_GENERAL;
    *ret = (struct keys){addr + PY_KEYS_INDICES + (UINT64_C(1) << log2_bytes),
                         get_u64(head + PY_KEYS_USED),
                         general ? PY_ENTRY_BYTES : PY_UNICODE_ENTRY_BYTES};
    return 0;
}

/* VALUES: where the values are if the keys are shared; 0: they are beside the keys. */
static int read_entries(const struct py_layout *l, struct mem *mem, uint64_t keys_addr,
                        uint64_t values, struct py_dict *ret)
{
    struct keys keys;
    int r = l->traits.dicts == PY_DICTS_36 ? read_old_keys(mem, keys_addr, &keys)
                                           : read_new_keys(mem, keys_addr, &keys);
    if (r == 0 && keys.n > PY_DICT_MAX_ENTRIES)
        r = -EPROTO;
    if (r < 0)
        return r;
    struct py_dict d = {.entries = xcalloc(keys.n + 1, sizeof *d.entries), .n = keys.n};
    uint64_t *words = xmalloc(keys.n * keys.entry_bytes + 1);
    size_t per_entry = keys.entry_bytes / sizeof *words;
    r = keys.n ? mem_read(mem, keys.entries, words, keys.n * keys.entry_bytes) : 0;
    for (size_t i = 0; r == 0 && i < keys.n; i++) {
        const uint64_t *key = words + i * per_entry + per_entry - 2;
        d.entries[i] = (struct py_entry){per_entry == 3 ? key[-1] : 0, key[0], key[1]};
    }
    if (r == 0 && values && keys.n)
        r = mem_read(mem, values, words, keys.n * sizeof *words);
    for (size_t i = 0; r == 0 && values && i < keys.n; i++)
        d.entries[i].value = words[i];
    free(words);
    if (r < 0)
        py_dict_release(&d);
    else
        *ret = d;
    return r;
}

/* 3.13's values begin with four bytes about themselves. */
static uint64_t values_start(const struct py_layout *l, uint64_t values)
{
    return values && l->traits.dicts == PY_DICTS_313 ? values + PY_VALUES_HEAD_BYTES : values;
}

int py_dict_read(const struct py_layout *l, struct mem *mem, uint64_t addr, struct py_dict *ret)
{
    uint64_t keys, values;
    int r = read_word(mem, addr + field(l, PY_DICT_KEYS), &keys);
    if (r == 0)
        r = read_word(mem, addr + field(l, PY_DICT_VALUES), &values);
    return r != 0 ? r : read_entries(l, mem, keys, values_start(l, values), ret);
}

struct instance {
    uint64_t addr, type, flags, basic_bytes;
    int64_t dict_offset;
};

static int read_instance(const struct py_layout *l, struct mem *mem, uint64_t addr,
                         struct instance *ret)
{
    struct instance o = {.addr = addr};
    uint64_t dict_offset;
    int r = read_word(mem, addr + l->object.type, &o.type);
    if (r == 0)
        r = read_word(mem, o.type + field(l, PY_TYPE_BASIC_SIZE), &o.basic_bytes);
    if (r == 0)
        r = read_word(mem, o.type + field(l, PY_TYPE_FLAGS), &o.flags);
    if (r == 0)
        r = read_word(mem, o.type + field(l, PY_TYPE_DICT_OFFSET), &dict_offset);
    if (r != 0)
        return r;
    o.dict_offset = (int64_t)dict_offset;
    *ret = o;
    return 0;
}

/* The words before the object.  3.11: a pointer to values and one to a dict, one of them NULL.
 * 3.12: one pointer to either; that to values is one less, so odd.  3.13: a pointer to a dict; if
 * it is NULL the values are behind the object. */
static int find_managed(const struct py_layout *l, struct mem *mem, const struct instance *o,
                        uint64_t *ret_values, uint64_t *ret_dict)
{
    uint64_t before = l->free_threaded ? PY_DICT_BEFORE_FREE_THREADED : PY_DICT_BEFORE;
    *ret_values = 0;
    int r = read_word(mem, o->addr - before, ret_dict);
    if (r == 0 && l->traits.dicts == PY_DICTS_311)
        r = read_word(mem, o->addr - PY_VALUES_BEFORE, ret_values);
    if (r == 0 && l->traits.dicts == PY_DICTS_312 && (*ret_dict & 1))
        *ret_values = *ret_dict + 1;
    if (r == 0 && l->traits.dicts == PY_DICTS_313 && *ret_dict == 0)
        *ret_values = o->addr + o->basic_bytes;
    return r;
}

int py_attributes_read(const struct py_layout *l, struct mem *mem, uint64_t addr,
                       struct py_dict *ret)
{
    struct instance o;
    uint64_t values = 0, keys, dict;
    int r = read_instance(l, mem, addr, &o);
    if (r != 0)
        return r;
    if (l->traits.dicts != PY_DICTS_36 && o.flags & PY_FLAG_MANAGED_DICT)
        r = find_managed(l, mem, &o, &values, &dict);
    else if (o.dict_offset > 0)
        r = read_word(mem, addr + (uint64_t)o.dict_offset, &dict);
    else
        r = -EPROTO;
    if (r == 0 && values == 0)
        return py_dict_read(l, mem, dict, ret);
    if (r == 0)
        r = read_word(mem, o.type + l->type.cached_keys, &keys);
    return r != 0 ? r : read_entries(l, mem, keys, values_start(l, values), ret);
}

/* Is the str at ADDR plain NAME? */
static bool is_name(const struct py_layout *l, struct mem *mem, uint64_t addr, const char *name)
{
    enum { MAX_BYTES = 64 };
    char text[MAX_BYTES];
    uint64_t data;
    size_t len;
    size_t wanted = strlen(name);
    return wanted <= sizeof text && py_string_find(l, mem, addr, &data, &len) == 0 &&
           len == wanted && mem_read(mem, data, text, len) == 0 && memcmp(text, name, len) == 0;
}

uint64_t py_dict_find(const struct py_layout *l, struct mem *mem, const struct py_dict *d,
                      const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->entries[i].value != 0 && is_name(l, mem, d->entries[i].key, name))
            return d->entries[i].value;
    return 0;
}

void py_dict_release(struct py_dict *d)
{
    free(d->entries);
    *d = (struct py_dict){0};
}

int py_dict_look_up(const struct py_layout *l, struct mem *mem, uint64_t addr, const char *name,
                    uint64_t *ret)
{
    struct py_dict d;
    int r = py_dict_read(l, mem, addr, &d);
    if (r != 0)
        return r;
    *ret = py_dict_find(l, mem, &d, name);
    py_dict_release(&d);
    return *ret ? 0 : -ENOENT;
}
