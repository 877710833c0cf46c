/* Reads the entries of CPython's dicts, and those of instances' attributes; the hash table is
 * passed over.  The target may be running: a torn entry is not found.  Source: CPython
 * Objects/dict-common.h (3.6 to 3.10), Include/internal/pycore_dict.h, pycore_object.h. */
#pragma once

#include "pyframes/py_layout.h"

struct py_entry {
    uint64_t hash; /* 0 where all keys are str (3.11+): they keep their own */
    uint64_t key, value;
};
struct py_dict {
    struct py_entry *entries; /* heap; a deleted one has VALUE 0 */
    size_t n;
};
enum { PY_DICT_MAX_ENTRIES = 1 << 16 };

/* Reads the dict at ADDR.  Returns 0; -EPROTO (no sound dict, or too large); what mem_read()
 * says. */
int py_dict_read(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                 struct py_dict *ret);
/* The same of the attributes of the instance at ADDR. */
int py_attributes_read(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                       struct py_dict *ret);
/* The value of the str key NAME; 0: none. */
uint64_t py_dict_find(const struct py_layout *layout, struct mem *mem, const struct py_dict *d,
                      const char *name);
void py_dict_release(struct py_dict *d);
/* The value of the str key NAME in the dict at ADDR.  Returns 0; -ENOENT; what py_dict_read()
 * says. */
int py_dict_look_up(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                    const char *name, uint64_t *ret);
