#include "target/elf_store.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/file_use.h"
#include "base/hash.h"

struct elf_store {
    struct elf_file **files;
    size_t n, capacity;
    struct map by_identity;
    struct index by_build_id;
    struct elf_store_counters counters;
    unsigned descriptors; /* kept */
};

struct elf_store *elf_store_new(void)
{
    return xcalloc(1, sizeof(struct elf_store));
}

/* The kept file that ST describes; NULL: none. */
static struct elf_file *find_state(const struct elf_store *s, const struct stat *st)
{
    uint64_t at;
    if (!map_get(&s->by_identity, elf_identity(st), &at) || !elf_file_is(s->files[at], st))
        return NULL;
    return s->files[at];
}

int elf_store_open(struct elf_store *s, struct elf_file **ret, const char *path)
{
    struct stat st;
    file_use_opening(path);
    int r = stat(path, &st);
    file_use_opened();
    struct elf_file *known = r == 0 ? find_state(s, &st) : NULL;
    if (!known)
        return elf_file_open(ret, path, NULL);
    elf_file_add_path(known, path);
    *ret = elf_file_share(known);
    return 0;
}

static bool is_twin(const void *item, const void *wanted)
{
    return elf_file_is_twin(*(struct elf_file *const *)item, wanted);
}

static uint64_t hash_of_build_id(const struct elf_file *f)
{
    const struct build_id *id = elf_file_build_id(f);
    return hash_bytes(id->bytes, id->len);
}

static struct elf_file *find_twin(const struct elf_store *s, const struct elf_file *f)
{
    uint64_t at;
    if (map_get(&s->by_identity, elf_file_identity(f), &at) && is_twin(&s->files[at], f))
        return s->files[at];
    if (!elf_file_build_id(f)->len)
        return NULL;
    uint32_t item =
        index_find(&s->by_build_id, hash_of_build_id(f), s->files, sizeof *s->files, is_twin, f);
    return item == INDEX_NONE ? NULL : s->files[item];
}

static void add(struct elf_store *s, struct elf_file *f)
{
    s->files = array_reserve(s->files, &s->capacity, s->n + 1, sizeof *s->files);
    if (elf_file_is_file(f))
        map_put(&s->by_identity, elf_file_identity(f), s->n);
    if (elf_file_build_id(f)->len)
        index_add(&s->by_build_id, hash_of_build_id(f), (uint32_t)s->n);
    s->files[s->n++] = elf_file_share(f);
    s->counters.files++;
}

struct elf_file *elf_store_keep(struct elf_store *s, struct elf_file *f, bool *ret_known)
{
    struct elf_file *twin = find_twin(s, f);
    *ret_known = twin != NULL;
    if (!twin) {
        add(s, f);
        return f;
    }
    s->counters.shared++;
    elf_file_share(twin);
    elf_file_free(f); /* perhaps the same */
    return twin;
}

bool elf_store_take_descriptor(struct elf_store *s)
{
    if (s->descriptors == ELF_STORE_DESCRIPTORS)
        return false;
    s->descriptors++;
    return true;
}

void elf_store_return_descriptor(struct elf_store *s)
{
    s->descriptors--;
}

const struct elf_store_counters *elf_store_counters(const struct elf_store *s)
{
    return &s->counters;
}

struct elf_store *elf_store_free(struct elf_store *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->n; i++)
        elf_file_free(s->files[i]);
    free(s->files);
    map_release(&s->by_identity);
    index_release(&s->by_build_id);
    free(s);
    return NULL;
}
