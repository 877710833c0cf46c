#include "pyframes/py_with.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "pyframes/py_dict.h"
#include "pyframes/py_fixed.h"
#include "pyframes/py_step.h"
#include "pyframes/py_string.h"

enum { MAX_TABLE_BYTES = 4096, MAX_NAMES = 256 };
enum { MOST_BLOCKS = 20, BLOCK_NUMBERS = PY_OLD_BLOCK_BYTES / 4 };

/* ---- the value stack ---- */

uint64_t py_with_self(const struct py_layout *l, struct mem *live, uint64_t addr)
{
    uint64_t self = 0;
    if (addr && addr % 8 == 0 &&
        mem_read_u64(live, addr + l->object.type + PY_METHOD_SELF, &self) < 0)
        return 0;
    return self;
}

size_t py_with_slots(const struct py_layout *l, struct mem *live, const struct py_frame *f,
                     uint64_t ret[PY_MAX_SLOTS])
{
    uint32_t size;
    uint32_t locals;
    uint64_t start;
    if (l->traits.with_keeps != PY_WITH_KEEPS_BLOCK) {
        if (mem_read_u32(live, f->code + l->code.first_line + PY_VALUES_PAST_FIRST_LINE, &locals) <
                0 ||
            mem_read_u32(live, f->code + l->code.first_line - PY_FIRST_LINE_PAST_STACK_SIZE,
                         &size) < 0 ||
            locals > 1 << 16)
            return 0;
        start = f->self + l->frame.locals + (uint64_t)8 * locals;
    } else if (l->frame.lasti == PY_ABSENT ||
               mem_read_u32(live, f->code + l->code.first_line - PY_OLD_FIRST_LINE_PAST_STACK_SIZE,
                            &size) < 0 ||
               mem_read_u64(live, f->self + l->object.type + PY_OLD_FRAME_VALUES, &start) < 0) {
        return 0;
    }
    size = size < PY_MAX_SLOTS ? size : PY_MAX_SLOTS;
    return mem_read(live, start, ret, size * sizeof *ret) < 0 ? 0 : size;
}

/* A number of an exception table: six bits a byte, the first ones first; bit 6: more follow. */
static bool read_number(const uint8_t *table, size_t len, size_t *at, uint32_t *ret)
{
    *ret = 0;
    for (int i = 0; i < 5 && *at < len; i++) {
        uint8_t byte = table[(*at)++];
        *ret = *ret << 6 | (byte & 0x3f);
        if (!(byte & 0x40))
            return true;
    }
    return false;
}

/* How many values F's stack has below what it computes just now, by the entry of the exception
 * table that covers its instruction; 0: none does. */
static uint32_t covered_depth(const uint8_t *table, size_t len, int32_t lasti)
{
    uint32_t index = (uint32_t)lasti / 2;
    for (size_t at = 0; at < len;) {
        uint32_t start;
        uint32_t size;
        uint32_t target;
        uint32_t depth;
        if (!read_number(table, len, &at, &start) || !read_number(table, len, &at, &size) ||
            !read_number(table, len, &at, &target) || !read_number(table, len, &at, &depth) ||
            start > index)
            return 0;
        if (index - start < size)
            return depth >> 1;
    }
    return 0;
}

static uint32_t depth_of(const struct py_layout *l, struct mem *live, const struct py_frame *f)
{
    uint8_t table[MAX_TABLE_BYTES];
    uint64_t object;
    uint64_t data;
    size_t len;
    if (f->lasti < 0 ||
        mem_read_u64(live, f->code + l->object.type + PY_CODE_EXCEPTION_TABLE, &object) < 0 ||
        py_bytes_find(l, live, object, sizeof table, &data, &len) < 0 || len == 0 ||
        mem_read(live, data, table, len) < 0)
        return 0;
    return covered_depth(table, len, f->lasti);
}

static uint64_t lowest_bits(uint32_t n)
{
    return n < PY_MAX_SLOTS ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* Up to 3.10: a block of `with` begins above what that keeps. */
static uint64_t places_below_blocks(const struct py_layout *l, struct mem *live,
                                    const struct py_frame *f)
{
    uint32_t blocks[MOST_BLOCKS][BLOCK_NUMBERS];
    uint32_t n;
    uint64_t places = 0;
    if (l->frame.lasti == PY_ABSENT ||
        mem_read_u32(live, f->self + l->frame.lasti + PY_OLD_BLOCKS_PAST_LASTI, &n) < 0 || n == 0 ||
        n > MOST_BLOCKS ||
        mem_read(live, f->self + l->frame.lasti + PY_OLD_BLOCK_STACK_PAST_LASTI, blocks,
                 n * sizeof *blocks) < 0)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (blocks[i][PY_OLD_BLOCK_LEVEL / 4] > 0 &&
            blocks[i][PY_OLD_BLOCK_LEVEL / 4] <= PY_MAX_SLOTS)
            places |= UINT64_C(1) << (blocks[i][PY_OLD_BLOCK_LEVEL / 4] - 1);
    return places;
}

/* Which of F's values may be what a statement keeps: a bit each. */
static uint64_t kept_places(const struct py_layout *l, struct mem *live, const struct py_frame *f)
{
    static_assert(PY_MAX_SLOTS == 64, "a bit each");
    if (l->traits.with_keeps == PY_WITH_KEEPS_BLOCK)
        return places_below_blocks(l, live, f);
    return lowest_bits(depth_of(l, live, f));
}

/* ---- code ---- */

bool py_with_uses(const struct py_layout *l, struct mem *live, uint64_t code,
                  const char *const *names, bool if_unread)
{
    uint64_t tuple;
    uint64_t n = 0;
    bool uses = if_unread;
    struct text name = {0};
    uint64_t names_at = l->code.names == PY_ABSENT ? l->object.type + PY_CODE_NAMES : l->code.names;
    if (mem_read_u64(live, code + names_at, &tuple) < 0 ||
        mem_read_u64(live, tuple + l->object.type + PY_SIZE, &n) < 0 || n > MAX_NAMES)
        return if_unread;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t item;
        text_clear(&name);
        if (mem_read_u64(live, py_tuple_items(l, tuple) + 8 * i, &item) < 0 ||
            py_string_read(l, live, item, &name) < 0)
            goto out;
        uses = name.len && str_is_one_of(name.s, names);
        if (uses)
            goto out;
    }
    uses = false;
out:
    text_release(&name);
    return uses;
}

/* ---- __exit__ ---- */

/* What `with` keeps of an object. */
struct kept {
    uint64_t self;
    uint64_t def_at;   /* where its __exit__ has its definition, if that is C's */
    uint64_t function; /* its __exit__, if that is Python's */
};

/* The value at I of SLOTS, with the one before it, as what `with` keeps. */
static struct kept kept_at(const struct py_layout *l, struct mem *live, const uint64_t *slots,
                           size_t i)
{
    uint64_t values = ~(uint64_t)l->traits.executable_tags;
    struct kept ret = {0};
    if (l->traits.with_keeps == PY_WITH_KEEPS_BOTH) {
        ret.self = slots[i] & values;
        ret.function = i > 0 ? slots[i - 1] & values : 0;
        ret.def_at = ret.function + l->object.type + PY_DESCRIPTOR_DEF;
    } else {
        ret.self = py_with_self(l, live, slots[i]);
        ret.def_at = slots[i] + l->object.type + PY_METHOD_FUNCTION;
        if (!ret.self || mem_read_u64(live, ret.def_at, &ret.function) < 0)
            ret.function = 0;
    }
    return ret;
}

/* Is the method whose definition's address is at DEF_AT an __exit__? */
static bool is_exit_of_c(struct mem *live, uint64_t def_at)
{
    uint64_t def;
    uint64_t name_at;
    char name[sizeof "__exit__"];
    return mem_read_u64(live, def_at, &def) == 0 && mem_read_u64(live, def, &name_at) == 0 &&
           mem_read(live, name_at, name, sizeof name) == 0 &&
           memcmp(name, "__exit__", sizeof name) == 0;
}

/* Is FUNCTION an __exit__ of Python's? */
static bool is_exit(const struct py_layout *l, struct mem *live, uint64_t function)
{
    uint64_t name;
    struct text text = {0};
    uint32_t name_at = l->traits.code_first ? PY_OLD_FUNCTION_NAME : PY_FUNCTION_NAME;
    bool is = function && function % 8 == 0 &&
              mem_read_u64(live, function + l->object.type + name_at, &name) == 0 &&
              py_string_read(l, live, name, &text) == 0 && text.len && str_eq(text.s, "__exit__");
    text_release(&text);
    return is;
}

/* Does the __exit__ at FUNCTION release the attribute that KEY names? */
static bool releases(const struct py_layout *l, struct mem *live, uint64_t function, uint64_t key)
{
    static const char *const calls[] = {"release", "__exit__", NULL};
    uint64_t code;
    struct text name = {0};
    uint32_t code_at = l->traits.code_first ? PY_OLD_FUNCTION_CODE : PY_FUNCTION_CODE;
    bool is = mem_read_u64(live, function + l->object.type + code_at, &code) == 0 &&
              py_string_read(l, live, key, &name) == 0 && name.len &&
              py_with_uses(l, live, code, (const char *const[]){name.s, NULL}, false) &&
              py_with_uses(l, live, code, calls, false);
    text_release(&name);
    return is;
}

/* Does the __exit__ at FUNCTION, of an object with the attributes D, release LOCK? */
static bool releases_lock(const struct py_layout *l, struct mem *live, uint64_t function,
                          const struct py_dict *d, uint64_t lock)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->entries[i].value == lock && releases(l, live, function, d->entries[i].key))
            return true;
    return false;
}

/* ---- the statement ---- */

static bool is_generator(const struct py_runtime *rt, struct mem *live, uint64_t object)
{
    uint64_t type;
    uint64_t at;
    char name[sizeof "generator"];
    return py_step_is_address(object) &&
           mem_read_u64(live, object + rt->layout.object.type, &type) == 0 &&
           py_runtime_owns(rt, type) &&
           mem_read_u64(live, type + rt->layout.object.type + PY_TYPE_NAME, &at) == 0 &&
           mem_read(live, at, name, sizeof name) == 0 &&
           memcmp(name, "generator", sizeof name) == 0;
}

/* Adds the frame of GENERATOR, if it is one. */
static void add_generator(const struct py_runtime *rt, struct mem *live, uint64_t generator,
                          struct py_with *ret)
{
    const struct py_layout *l = &rt->layout;
    uint64_t frame = generator + l->generator.frame;
    if (ret->n == PY_MAX_WITH || !is_generator(rt, live, generator) ||
        (l->generator.frame == PY_ABSENT &&
         mem_read_u64(live, generator + l->object.type + PY_OLD_GENERATOR_FRAME, &frame) < 0))
        return;
    ret->n += py_step_read_one(rt, live, frame, &ret->frames[ret->n]);
}

/* Is K of a statement that holds LOCK?  Adds the frame of its generator, if it has one. */
static void look_at(const struct py_runtime *rt, struct mem *live, const struct kept *k,
                    uint64_t lock, struct py_with *ret)
{
    const struct py_layout *l = &rt->layout;
    struct py_dict d;
    if (k->self == lock) {
        ret->kind = is_exit_of_c(live, k->def_at) ? PY_WITH_LOCK : PY_WITH_NONE;
        return;
    }
    if (!k->self || k->self % 8 || !is_exit(l, live, k->function) ||
        py_attributes_read(l, live, k->self, &d) < 0)
        return;
    if (releases_lock(l, live, k->function, &d, lock))
        ret->kind = PY_WITH_OWNER;
    else
        add_generator(rt, live, py_dict_find(l, live, &d, "gen"), ret);
    py_dict_release(&d);
}

struct py_with py_with_find(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                            uint64_t lock)
{
    const struct py_layout *l = &rt->layout;
    struct py_with ret = {.frames = {*f}, .n = 1};
    for (size_t at = 0; at < ret.n && ret.kind == PY_WITH_NONE; at++) {
        uint64_t slots[PY_MAX_SLOTS];
        uint64_t places = kept_places(l, live, &ret.frames[at]);
        size_t n = places ? py_with_slots(l, live, &ret.frames[at], slots) : 0;
        for (size_t i = 0; i < n && ret.kind == PY_WITH_NONE; i++) {
            if (!(places >> i & 1))
                continue;
            struct kept k = kept_at(l, live, slots, i);
            look_at(rt, live, &k, lock, &ret);
        }
    }
    return ret;
}
