#include "pyframes/py_code.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "pyframes/py_code_key.h"
#include "pyframes/py_code_store.h"
#include "pyframes/py_string.h"

enum {
    /* The standard library's longest has 60 KB; a generated module's may be 100 times longer. */
    MAX_LINETABLE_BYTES = 16 << 20,
    MAX_CODES = 1 << 18, /* for a program that makes code without end */
    BATCH = 64,          /* code objects that are compared in one read */
    MAX_TRIES = 3,       /* to read an object that changes meanwhile */
    CODE_UNIT_BYTES = 2,
    MAX_COPIES = 1024, /* known copies of one code object's bytecode */
    MAX_LINELESS = 64, /* instructions without a line in a row; compilers emit a few */
    /* Bounds that no ordinary program reaches: */
    MAX_TABLES_BYTES = 64 << 20, /* of line tables that are kept */
    MAX_PLACES = 1 << 18,        /* known copies of bytecode */
    MAX_WORK_BYTES = 256 << 20,  /* of line tables that are read or searched for one stack */
    /* Decoding and interning a byte of a name costs as much as this many bytes of a line table. */
    NAME_WORK = 16,
};

struct code {
    uint64_t addr;
    struct py_code_key key;
    bool hidden;
    struct py_lines *lines;
    struct map copies; /* of the bytecode, each a thread's: number → address */
    uint64_t units;    /* instructions in each */
    uint64_t round;    /* of the last check */
    int64_t live_ns;   /* when live memory last had it unchanged */
    int64_t seen_ns;   /* when a capture last recorded it unchanged */
};

struct py_codes {
    const struct py_runtime *rt;
    struct mem *live;
    struct profile *profile;
    struct py_code_store *store, *own_store; /* OWN_STORE: unless it is borrowed, NULL */
    struct map index;                        /* address → index of codes */
    struct code *codes;
    size_t n, capacity;
    size_t *free; /* indices in codes that are free */
    size_t n_free, free_capacity;
    size_t window; /* bytes of a code object that contain its key */
    uint64_t round;
    int64_t taken_ns;   /* the capture that was checked last */
    size_t table_bytes; /* of all line tables */
    size_t places;      /* in the maps of copies */
    size_t work_left;   /* of MAX_WORK_BYTES, for the present stack */
    uint64_t changes;
};

static_assert((int)BATCH <= (int)MEM_MAX_SPANS, "one read");

struct py_codes *py_codes_new(const struct py_runtime *rt, struct mem *live,
                              struct profile *profile, struct py_code_store *store)
{
    struct py_codes *c = xcalloc(1, sizeof *c);
    c->own_store = store ? NULL : py_code_store_new();
    c->store = store ? store : c->own_store;
    c->rt = rt;
    c->live = live;
    c->profile = profile;
    c->window = py_code_key_bytes(&rt->layout);
    c->work_left = MAX_WORK_BYTES;
    return c;
}

/* Room for the keys of a batch. */
static uint8_t *windows(const struct py_codes *c)
{
    return py_code_store_scratch(c->store, c->window * BATCH);
}

static void release_code(struct code *code)
{
    py_lines_drop(code->lines);
    map_release(&code->copies);
    *code = (struct code){0};
}

static void forget_all(struct py_codes *c)
{
    for (size_t i = 0; i < c->n; i++)
        release_code(&c->codes[i]);
    c->n = c->n_free = 0;
    c->table_bytes = c->places = 0;
    map_clear(&c->index);
}

struct py_codes *py_codes_free(struct py_codes *c)
{
    if (!c)
        return NULL;
    forget_all(c);
    map_release(&c->index);
    free(c->codes);
    free(c->free);
    py_code_store_free(c->own_store);
    free(c);
    return NULL;
}

static void forget(struct py_codes *c, size_t ix)
{
    c->changes++;
    map_remove(&c->index, c->codes[ix].addr);
    c->table_bytes -= c->codes[ix].lines->table_len;
    c->places -= c->codes[ix].copies.n;
    release_code(&c->codes[ix]);
    c->free = array_reserve(c->free, &c->free_capacity, c->n_free + 1, sizeof *c->free);
    c->free[c->n_free++] = ix;
}

static size_t take_slot(struct py_codes *c)
{
    if (c->n_free)
        return c->free[--c->n_free];
    if (c->n == MAX_CODES)
        forget_all(c);
    c->codes = array_reserve(c->codes, &c->capacity, c->n + 1, sizeof *c->codes);
    return c->n++;
}

/* ---- checking ---- */

/* The known code objects of a stack, each once. */
struct code_batch {
    int64_t taken_ns; /* the capture */
    size_t n;
    size_t codes[BATCH];
    struct mem_span spans[BATCH];
};

/* Compares code object IX with WINDOW, what live memory has at its address at NOW_NS.  If there is
 * no code object, it was freed since the capture: it stays known.  If there is another, it was
 * freed between the last time that it was there and now, which may be long after the capture: the
 * capture shows the one that is nearer in time. */
static void compare_live(struct py_codes *c, size_t ix, const uint8_t *window, int64_t taken_ns,
                         int64_t now_ns)
{
    struct code *code = &c->codes[ix];
    struct py_code_key now = py_code_key_of(&c->rt->layout, window);
    int64_t proven_ns = code->live_ns > code->seen_ns ? code->live_ns : code->seen_ns;
    if (py_code_key_same(&now, &code->key))
        code->live_ns = now_ns;
    else if (now.type == code->key.type && taken_ns - proven_ns >= now_ns - taken_ns)
        forget(c, ix);
}

static void check_batch(struct py_codes *c, struct code_batch *b)
{
    int64_t now_ns = b->n ? clock_now_ns() : 0;
    size_t done = 0;
    while (done < b->n) {
        size_t got = mem_read_spans(c->live, b->spans + done, b->n - done) / c->window;
        for (size_t i = done; i < done + got && i < b->n; i++)
            compare_live(c, b->codes[i], b->spans[i].buf, b->taken_ns, now_ns);
        done += got + 1; /* an unreadable one is gone, perhaps with the process */
    }
    b->n = 0;
}

/* The same with what the capture recorded, which the frame ran.  False: the capture has not
 * recorded it. */
static bool check_recorded(struct py_codes *c, struct mem *recorded, int64_t taken_ns, size_t ix,
                           uint8_t *window)
{
    if (mem_read(recorded, c->codes[ix].addr, window, c->window) < 0)
        return false;
    struct py_code_key then = py_code_key_of(&c->rt->layout, window);
    if (py_code_key_same(&then, &c->codes[ix].key))
        c->codes[ix].seen_ns = taken_ns;
    else
        forget(c, ix);
    return true;
}

void py_codes_check(struct py_codes *c, struct mem *recorded, int64_t taken_ns,
                    const struct py_stack *stack)
{
    struct code_batch batch;
    batch.n = 0; /* its arrays stay as they are */
    batch.taken_ns = taken_ns;
    uint8_t *room = windows(c);
    c->round++;
    c->taken_ns = taken_ns;
    c->work_left = MAX_WORK_BYTES;
    if (c->places > MAX_PLACES) /* checked once a stack: one adds few */
        forget_all(c);
    py_code_store_trim(c->store);
    for (size_t i = 0; i < stack->n; i++) {
        uint64_t ix = 0;
        uint8_t *window = room + batch.n * c->window;
        if (!map_get(&c->index, stack->frames[i].code, &ix) || c->codes[ix].round == c->round)
            continue;
        c->codes[ix].round = c->round;
        if (check_recorded(c, recorded, taken_ns, ix, window) || c->codes[ix].live_ns > taken_ns)
            continue;
        batch.codes[batch.n] = ix;
        batch.spans[batch.n++] = (struct mem_span){c->codes[ix].addr, window, c->window};
        if (batch.n == BATCH)
            check_batch(c, &batch);
    }
    check_batch(c, &batch);
}

/* ---- reading ---- */

struct code_parts {
    struct text name, file;
    uint8_t *table;
    size_t table_len;
};

/* Is it one of the interpreter's own code objects: a shim's, or that of the helper between a call
 * of a class and its __init__ (_Py_InitCleanup)? */
static bool is_internal(const struct code_parts *n, const struct py_traits *traits)
{
    bool init_helper = str_eq(n->file.s, "__init__") && str_eq(n->name.s, "__init__");
    return (traits->shim_code && str_eq(n->file.s, "<shim>")) ||
           (traits->init_helper && init_helper);
}

/* Reads what the capture recorded, and the rest from the live target. */
struct code_source {
    struct mem mem;
    struct mem *recorded, *live;
    bool used_live;
};

static int source_read(struct mem *mem, uint64_t addr, void *buf, size_t len)
{
    struct code_source *s = (struct code_source *)mem;
    if (mem_read(s->recorded, addr, buf, len) == 0)
        return 0;
    s->used_live = true;
    return mem_read(s->live, addr, buf, len);
}

static void spend(struct py_codes *c, size_t work)
{
    c->work_left -= work < c->work_left ? work : c->work_left;
}

static int read_parts(struct py_codes *c, struct mem *mem, const struct py_code_key *key,
                      struct code_parts *parts)
{
    const struct py_layout *l = &c->rt->layout;
    text_clear(&parts->name);
    text_clear(&parts->file);
    int r = c->work_left ? 0 : -EPROTO;
    if (r == 0)
        r = py_string_read(l, mem, py_code_key_name(l, key), &parts->name);
    if (r == 0)
        r = py_string_read(l, mem, key->filename, &parts->file);
    spend(c, NAME_WORK * (parts->name.len + parts->file.len));
    size_t most = c->work_left < MAX_LINETABLE_BYTES ? c->work_left : MAX_LINETABLE_BYTES;
    if (r == 0)
        r = py_bytes_read(l, mem, key->linetable, most, &parts->table, &parts->table_len);
    if (r == 0)
        spend(c, parts->table_len);
    return r;
}

static int read_key(struct py_codes *c, struct mem *mem, uint64_t addr, struct py_code_key *ret)
{
    uint8_t *window = windows(c);
    int r = mem_read(mem, addr, window, c->window);
    if (r < 0)
        return r;
    *ret = py_code_key_of(&c->rt->layout, window);
    return c->rt->code_type && ret->type != c->rt->code_type ? -ESTALE : 0;
}

/* The object holds references to its parts: between two equal reads of its key they stay the same.
 */
static int read_code(struct py_codes *c, struct mem *recorded, uint64_t addr,
                     struct py_code_key *key, struct code_parts *parts)
{
    static const struct mem_ops ops = {.read = source_read};
    for (int i = 0; i < MAX_TRIES; i++) {
        struct code_source source = {.mem = {&ops}, .recorded = recorded, .live = c->live};
        struct py_code_key again;
        int r = read_key(c, &source.mem, addr, key);
        if (r < 0)
            return r;
        int whole = read_parts(c, &source.mem, key, parts);
        if (!source.used_live)
            return whole;
        r = read_key(c, c->live, addr, &again);
        if (r == 0 && py_code_key_same(&again, key))
            return whole;
        free(parts->table);
        parts->table = NULL;
        if (r < 0)
            return r;
    }
    return -ESTALE;
}

/* Code object ADDR, whose KEY and PARTS were read; their table is taken over. */
static size_t keep(struct py_codes *c, uint64_t addr, const struct py_code_key *key,
                   const struct code_parts *parts)
{
    int32_t first_line = key->first_line > 0 ? key->first_line : 0;
    struct func func = {.name = profile_string(c->profile, parts->name.s),
                        .file = profile_string(c->profile, parts->file.s),
                        .first_line = (uint32_t)first_line};
    struct py_lines lines = {.func = profile_func(c->profile, &func),
                             .kind = c->rt->layout.traits.lines,
                             .first_line = first_line,
                             .table = parts->table,
                             .table_len = parts->table_len};
    if (c->table_bytes + parts->table_len > MAX_TABLES_BYTES)
        forget_all(c);
    size_t ix = take_slot(c); /* may forget all */
    c->table_bytes += parts->table_len;
    c->codes[ix] = (struct code){.addr = addr,
                                 .key = *key,
                                 .hidden = is_internal(parts, &c->rt->layout.traits),
                                 .lines = py_lines_take(c->store, &lines),
                                 .round = c->round,
                                 .seen_ns = c->taken_ns};
    map_put(&c->index, addr, ix);
    return ix;
}

static int load(struct py_codes *c, struct mem *recorded, uint64_t addr, size_t *ret)
{
    struct code_parts parts = {0};
    struct py_code_key key;
    c->changes++;
    int r = read_code(c, recorded, addr, &key, &parts);
    if (r == 0)
        *ret = keep(c, addr, &key, &parts);
    text_release(&parts.name);
    text_release(&parts.file);
    return r;
}

/* ---- resolving ---- */

/* Instructions that the compiler adds have no line (the first ones of a closure, the end of a
 * handler): they get the line of those before them. */
static int32_t line_of(const struct py_lines *l, int32_t lasti)
{
    int32_t line = 0;
    if (lasti == PY_LASTI_UNKNOWN ||
        py_linetable_line_shown(l->kind, l->table, l->table_len, l->first_line, lasti,
                                (MAX_LINELESS - 1) * CODE_UNIT_BYTES, &line) < 0)
        return 0;
    return line;
}

/* Returns 0; -EPROTO: RET is without its line, because this stack's budget of work is used up. */
static int frame_of(struct py_codes *c, struct py_lines *lines, int32_t lasti, frame_id *ret)
{
    uint64_t known = 0;
    if (map_get(&lines->frames, (uint32_t)lasti, &known)) {
        *ret = (frame_id){(uint32_t)known};
        return 0;
    }
    bool affordable = lines->table_len <= c->work_left;
    if (affordable)
        spend(c, lines->table_len);
    *ret = profile_frame(c->profile,
                         &(struct frame){
                             .kind = FRAME_PYTHON,
                             .python.func = lines->func,
                             .python.line = affordable ? (uint32_t)line_of(lines, lasti) : 0,
                         });
    if (!affordable)
        return -EPROTO;
    py_lines_keep(lines, (uint32_t)lasti, *ret);
    return 0;
}

/* ---- where a copy of the bytecode is ---- */

static int32_t offset_in(const struct py_frame *f, uint64_t start, uint64_t units)
{
    uint64_t offset = f->instr - start;
    return offset <= INT32_MAX && offset / CODE_UNIT_BYTES < units ? (int32_t)offset
                                                                   : PY_LASTI_UNKNOWN;
}

static int find_copy(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                     uint64_t *ret_start, uint64_t *ret_units)
{
    const struct py_layout *l = &rt->layout;
    uint64_t copies, n;
    if (mem_read_u64(live, f->code + l->code.copies, &copies) < 0 ||
        mem_read_u64(live, copies, &n) < 0 || f->copy >= n ||
        mem_read_u64(live, copies + sizeof n + f->copy * sizeof *ret_start, ret_start) < 0 ||
        mem_read_u64(live, f->code + l->bytes.size, ret_units) < 0)
        return -ESTALE;
    return 0;
}

int32_t py_code_lasti(const struct py_runtime *rt, struct mem *live, const struct py_frame *f)
{
    uint64_t start, units;
    if (f->copy == 0)
        return f->lasti;
    return find_copy(rt, live, f, &start, &units) == 0 ? offset_in(f, start, units)
                                                       : PY_LASTI_UNKNOWN;
}

static bool read_name(const struct py_layout *l, struct mem *live, uint64_t at, struct text *ret)
{
    uint64_t name;
    text_clear(ret);
    return mem_read_u64(live, at, &name) == 0 && py_string_read(l, live, name, ret) == 0 &&
           ret->len;
}

bool py_code_is(const struct py_layout *l, struct mem *live, uint64_t code, const char *name,
                const char *file)
{
    struct text text = {0};
    bool is = read_name(l, live, code + l->code.name, &text) && str_eq(text.s, name) &&
              read_name(l, live, code + l->code.filename, &text) && path_ends(text.s, file);
    text_release(&text);
    return is;
}

/* Is the offset LASTI in the bytecode?  True up to 3.10, whose keys do not tell its length. */
static bool is_inside(const struct py_codes *c, const struct code *code, int32_t lasti)
{
    return lasti < 0 ||
           py_code_key_units(&c->rt->layout, &code->key) > (uint32_t)lasti / CODE_UNIT_BYTES;
}

/* py_code_lasti() from the known copy.  A copy stays where it is until no thread has its number and
 * the garbage collector frees it (_Py_ClearUnusedTLBC): a frame whose instruction is not in the
 * known copy has a newer one. */
static int32_t lasti_of(struct py_codes *c, struct code *code, const struct py_frame *f)
{
    uint64_t start;
    if (f->copy == 0)
        return is_inside(c, code, f->lasti) ? f->lasti : PY_LASTI_UNKNOWN;
    if (map_get(&code->copies, f->copy, &start)) {
        int32_t lasti = offset_in(f, start, code->units);
        if (lasti != PY_LASTI_UNKNOWN)
            return lasti;
    }
    if (find_copy(c->rt, c->live, f, &start, &code->units) < 0)
        return PY_LASTI_UNKNOWN;
    if (code->copies.n == MAX_COPIES) {
        c->places -= code->copies.n;
        map_clear(&code->copies);
    }
    c->places -= code->copies.n;
    map_put(&code->copies, f->copy, start);
    c->places += code->copies.n;
    return offset_in(f, start, code->units);
}

int py_code_resolve(struct py_codes *c, struct mem *recorded, const struct py_frame *f,
                    frame_id *ret, bool *ret_hidden)
{
    uint64_t known = 0;
    size_t ix = 0;
    int r = 0;
    if (map_get(&c->index, f->code, &known))
        ix = known;
    else
        r = load(c, recorded, f->code, &ix);
    if (r < 0) {
        *ret = profile_mark(c->profile, "[unknown code]", NULL);
        *ret_hidden = false;
        return r == -EPROTO ? r : -ESTALE;
    }
    *ret_hidden = c->codes[ix].hidden;
    return frame_of(c, c->codes[ix].lines, lasti_of(c, &c->codes[ix], f), ret);
}

uint64_t py_codes_changes(const struct py_codes *c)
{
    return c->changes;
}
