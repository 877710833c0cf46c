#include "fleet/function_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

enum { BLOCK_BYTES = 1 << 16 };
/* Of hostile input.  10,000 ranks of one program have some thousand functions. */
static const uint64_t most_text_bytes = 128 << 20;
enum { MOST_FUNCTIONS = 1 << 21 };

struct text_block {
    struct text_block *next;
    char bytes[];
};

/* ---- texts ---- */

static bool same_text(const void *item, const void *wanted)
{
    const struct {
        const char *s;
        size_t len;
    } *w = wanted;
    const char *s = *(const char *const *)item;
    return strncmp(s, w->s, w->len) == 0 && s[w->len] == '\0';
}

static char *room_for(struct texts *t, size_t bytes)
{
    if (t->left < bytes) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        struct text_block *b = xmalloc(sizeof *b + size);
        b->next = t->blocks;
        t->blocks = b;
        t->block = b->bytes;
        t->left = size;
    }
    char *ret = t->block;
    t->block += bytes;
    t->left -= bytes;
    return ret;
}

uint32_t texts_add(struct texts *t, const char *s, size_t len)
{
    len = strnlen(s, len);
    struct {
        const char *s;
        size_t len;
    } wanted = {s, len};
    uint64_t hash = hash_bytes(s, len);
    uint32_t id = index_find(&t->index, hash, t->items, sizeof *t->items, same_text, &wanted);
    if (id != INDEX_NONE)
        return id;
    if (t->bytes + len > most_text_bytes && len > 3)
        return texts_add(t, "…", 3);
    char *copy = room_for(t, len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    t->bytes += len + 1;
    t->items = array_reserve(t->items, &t->capacity, t->n + 1, sizeof *t->items);
    t->items[t->n] = copy;
    index_add(&t->index, hash, (uint32_t)t->n);
    return (uint32_t)t->n++;
}

const char *texts_see(const struct texts *t, uint32_t id)
{
    return id < t->n ? t->items[id] : "";
}

void texts_release(struct texts *t)
{
    while (t->blocks) {
        struct text_block *next = t->blocks->next;
        free(t->blocks);
        t->blocks = next;
    }
    free(t->items);
    index_release(&t->index);
    *t = (struct texts){0};
}

/* ---- names ---- */

/* How much of a native function's name is the source's: compilers add words behind a point, the
 * linker a version behind an @, and code without a symbol has an offset. */
static size_t name_length(const char *name)
{
    static const char *const added[] = {".part.",     ".isra.",  ".constprop.", ".cold", ".llvm.",
                                        ".lto_priv.", " [clone", "@",           "+0x",   NULL};
    size_t len = strlen(name);
    for (size_t i = 0; added[i]; i++) {
        const char *at = strstr(name, added[i]);
        if (at && at > name && (size_t)(at - name) < len)
            len = (size_t)(at - name);
    }
    return len;
}

/* The C library's second names for a function. */
static const char *first_name(const char *name)
{
    return str_starts(name, "__GI_") ? name + 5 : name;
}

/* ---- roles ---- */

static bool is_interpreter(const char *module)
{
    return str_starts(module, "libpython") || str_starts(module, "python");
}

static bool is_passed_module(const char *module)
{
    static const char *const starts[] = {
        "libc.so",  "libc-",  "libpthread", "ld-linux", "ld-",       "libm.so", "libstdc++",
        "libgcc_s", "[vdso]", "librt.",     "ld-musl-", "libc.musl", NULL};
    return str_starts_any(module, starts);
}

static bool is_entry(const char *name)
{
    static const char *const names[] = {"_start",   "__libc_start_main", "__libc_start_call_main",
                                        "clone",    "__clone",           "clone3",
                                        "__clone3", "start_thread",      NULL};
    return str_is_one_of(name, names);
}

/* What wraps a function, and has no other meaning: of Python's decorators, as in torch, by the last
 * component of the name. */
static bool is_wrapper(const char *name)
{
    static const char *const names[] = {
        "wrapper", "_wrapper", "wrapped",          "inner", "_call_impl", "_wrapped_call_impl",
        "_fn",     "__call__", "decorate_context", NULL};
    const char *point = strrchr(name, '.');
    return str_is_one_of(point ? point + 1 : name, names);
}

static enum function_role native_role(const char *name, const char *module)
{
    static const char *const internals[] = {"_Py", "Py", "_PY", "main", NULL};
    if (is_entry(name) || is_passed_module(module))
        return FUNCTION_IS_PASSED;
    if (is_interpreter(module))
        return str_starts_any(name, internals) ? FUNCTION_IS_PASSED : FUNCTION_IS_LIBRARY;
    if (!strstr(module, ".so"))
        return FUNCTION_IS_OWN;
    return str_starts(name, "std::") ? FUNCTION_IS_PASSED : FUNCTION_IS_LIBRARY;
}

/* FILE: a whole path, or, as py-spy's text has it, from the outermost package on. */
static enum function_role python_role(const char *name, const char *file)
{
    static const char *const parts[] = {"/lib/python",    "/lib64/python", "site-packages/",
                                        "dist-packages/", "<frozen ",      NULL};
    static const char *const starts[] = {
        "multiprocessing/", "concurrent/",  "asyncio/", "threading.py",  "queue.py",
        "socket.py",        "selectors.py", "ssl.py",   "subprocess.py", "runpy.py",
        "torch/",           "numpy/",       NULL};
    if (str_ends(file, "threading.py") || str_ends(file, "runpy.py") ||
        str_starts(file, "<frozen importlib") || str_starts(file, "<frozen runpy"))
        return FUNCTION_IS_PASSED;
    if (!str_has_any(file, parts) && !str_starts_any(file, starts))
        return FUNCTION_IS_OWN;
    return is_wrapper(name) ? FUNCTION_IS_PASSED : FUNCTION_IS_LIBRARY;
}

/* ---- functions ---- */

static bool same_function(const void *item, const void *wanted)
{
    const struct function *a = item;
    const struct function *b = wanted;
    return a->name == b->name && a->file == b->file && a->python == b->python;
}

static struct function describe(struct function_table *f, const struct frame_in *frame)
{
    struct function ret = {.python = frame->kind == FLEET_PYTHON};
    if (ret.python) {
        const char *file = path_base(frame->file);
        ret.name = texts_add(&f->texts, frame->name, strlen(frame->name));
        ret.file = texts_add(&f->texts, file, strlen(file));
        ret.role = python_role(frame->name, frame->file);
        return ret;
    }
    const char *module = path_base(frame->module);
    size_t len = name_length(frame->name);
    const char *name = first_name(frame->name);
    ret.name = texts_add(&f->texts, name, len - (size_t)(name - frame->name));
    ret.file = texts_add(&f->texts, module, strlen(module));
    ret.role = native_role(texts_see(&f->texts, ret.name), module);
    return ret;
}

static uint32_t find_or_add(struct function_table *f, const struct frame_in *frame)
{
    struct function wanted = describe(f, frame);
    uint64_t hash =
        hash_u64((uint64_t)wanted.name << 33 | (uint64_t)wanted.file << 1 | wanted.python);
    uint32_t id = index_find(&f->index, hash, f->items, sizeof *f->items, same_function, &wanted);
    if (id != INDEX_NONE)
        return id;
    if (f->n == MOST_FUNCTIONS)
        return 0;
    id = (uint32_t)f->n++;
    f->items = array_reserve(f->items, &f->capacity, f->n, sizeof *f->items);
    f->items[id] = wanted;
    index_add(&f->index, hash, id);
    return id;
}

/* Most frames have been read before, of another thread.  Hashes of 64 bits with a seed of this run
 * are as good as the texts. */
uint32_t function_table_add(struct function_table *f, const struct frame_in *frame)
{
    bool python = frame->kind == FLEET_PYTHON;
    const char *where = python ? frame->file : frame->module;
    uint64_t hash = hash_bytes(frame->name, strlen(frame->name)) + python;
    uint64_t id;
    hash = hash_u64(hash ^ hash_bytes(where, strlen(where)));
    if (!map_get(&f->seen, hash, &id)) {
        id = find_or_add(f, frame);
        if (f->seen.n < MOST_FUNCTIONS)
            map_put(&f->seen, hash, id);
    }
    f->items[id].inlined |= frame->inlined;
    return (uint32_t)id;
}

void function_table_release(struct function_table *f)
{
    texts_release(&f->texts);
    free(f->items);
    index_release(&f->index);
    map_release(&f->seen);
    *f = (struct function_table){0};
}
