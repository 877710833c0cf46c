#include "tests/fuzz/py_image.h"

#include <errno.h>
#include <string.h>

#include "target/proc.h"

enum {
    MAX_CHANGES = 64,
    ITEM_BYTES = 0x100,
    CODE_BYTES = 0x400,
    NAME_BYTES = 0x400,
    CFRAME_STEP = 0x200,
};

enum change {
    CHANGE_POINTER,
    CHANGE_WORD,
    CHANGE_BYTE,
    CHANGE_U32,
    CHANGE_EXTREME,
    CHANGE_BYTES,
    CHANGE_TORN,
    CHANGES
};

static void write_bytes(struct py_image *image, uint64_t addr, const void *bytes, size_t len)
{
    uint64_t at = addr - IMAGE_BASE;
    if (at < IMAGE_BYTES && len <= IMAGE_BYTES - at)
        memcpy(image->bytes + at, bytes, len);
}

static void write_u32(struct py_image *image, uint64_t addr, uint32_t value)
{
    write_bytes(image, addr, &value, sizeof value);
}

static void write_u64(struct py_image *image, uint64_t addr, uint64_t value)
{
    write_bytes(image, addr, &value, sizeof value);
}

/* ---- as it ought to be ---- */

static void field(struct py_image *image, uint64_t object, uint32_t offset, uint64_t value)
{
    if (offset == PY_ABSENT)
        return;
    write_u64(image, object + offset, value);
    if (image->n_fields < IMAGE_FIELDS)
        image->fields[image->n_fields++] = object + offset;
}

/* Values of CPython 3.13.0; positions by its headers, as in tests/unit/test_py_layout.c. */
static void put_debug_offsets(struct py_image *image)
{
    static const struct {
        uint32_t position, value;
    } block[] = {{40, 632}, {112, 8}, {120, 1000}, {136, 1016}, {144, 1008},
                 {184, 72}, {232, 8}, {248, 56},   {264, 70},   {560, 40}};
    write_bytes(image, IMAGE_BASE, PY_DEBUG_COOKIE, strlen(PY_DEBUG_COOKIE));
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        field(image, IMAGE_BASE, block[i].position, block[i].value);
}

static void put_code(struct py_image *image, uint64_t i)
{
    static const char *const names[IMAGE_ITEMS] = {"f",     "Op.run", "<module>",      "<lambda>",
                                                   "a.b.c", "main",   "loop.<locals>", "__init__"};
    const struct py_layout *l = &image->rt.layout;
    uint64_t code = IMAGE_CODE + i * CODE_BYTES;
    uint64_t name = IMAGE_NAMES + i * NAME_BYTES;
    uint64_t table = IMAGE_TABLES + i * ITEM_BYTES;
    field(image, code, l->object.type, IMAGE_TYPE);
    field(image, code, l->code.name, name);
    field(image, code, l->code.qualname, name);
    field(image, code, l->code.filename, name);
    field(image, code, l->code.linetable, table);
    write_u32(image, code + l->code.first_line, 10);
    field(image, name, l->unicode.length, strlen(names[i]));
    write_u32(image, name + l->unicode.state, 25U << l->unicode.kind_shift); /* compact ASCII */
    image->fields[image->n_fields++] = name + l->unicode.state;
    write_bytes(image, name + l->unicode.ascii_bytes, names[i], strlen(names[i]));
    field(image, table, l->bytes.size, 6);
    write_bytes(image, table + l->bytes.data, "\xd8\x01\x02\xd8\x01\x02", 6);
}

/* Two frames in each activation of the eval loop; the outermost frame ends the chain. */
static void put_frame(struct py_image *image, uint64_t i)
{
    const struct py_layout *l = &image->rt.layout;
    uint64_t frame = IMAGE_FRAMES + i * ITEM_BYTES;
    uint64_t cframe = IMAGE_STACK + CFRAME_STEP * (i / 2);
    uint64_t code = IMAGE_CODE + i * CODE_BYTES;
    bool outermost = i % 2 == 1;
    bool shims = l->traits.chain == PY_CHAIN_SHIM || l->traits.chain == PY_CHAIN_SHIM_CFRAME;
    uint64_t caller = i + 1 < IMAGE_ITEMS ? frame + ITEM_BYTES : 0;
    field(image, frame, l->frame.previous, shims && outermost ? cframe + 0x40 : caller);
    field(image, frame, l->frame.code, code | l->traits.executable_tags);
    field(image, frame, l->frame.instr, code + l->code.bytecode + 2 * i);
    if (l->frame.is_entry != PY_ABSENT)
        write_bytes(image, frame + l->frame.is_entry, &outermost, 1);
    if (!outermost)
        return;
    field(image, cframe, l->cframe.current_frame, frame - ITEM_BYTES);
    field(image, cframe, l->cframe.previous,
          caller ? cframe + CFRAME_STEP : IMAGE_THREAD + l->thread.root_cframe);
    if (shims) {
        field(image, cframe + 0x40, l->frame.previous, caller);
        write_bytes(image, cframe + 0x40 + l->frame.owner, "\3", 1);
    }
}

static void put_thread(struct py_image *image, uint64_t i)
{
    const struct py_layout *l = &image->rt.layout;
    uint64_t thread = IMAGE_THREAD + i * IMAGE_THREAD_BYTES;
    uint64_t pthread = IMAGE_PTHREAD + i * IMAGE_THREAD_BYTES;
    field(image, thread, l->thread.next, i ? 0 : thread + IMAGE_THREAD_BYTES);
    field(image, thread, l->thread.interp, IMAGE_INTERP);
    field(image, thread, l->thread.thread_id, pthread);
    field(image, thread, l->thread.native_id, IMAGE_TID + i);
    field(image, thread, l->thread.frame, IMAGE_FRAMES);
    field(image, thread, l->thread.cframe, IMAGE_STACK);
    if (l->thread.datastack != PY_ABSENT) {
        field(image, thread, l->thread.datastack, IMAGE_FRAMES - 24);
        field(image, thread, l->thread.datastack + 8, IMAGE_FRAMES + IMAGE_ITEMS * ITEM_BYTES);
    }
    write_u32(image, pthread + 0x2d0, (uint32_t)(IMAGE_TID + i)); /* glibc's struct pthread */
}

static void put_python(struct py_image *image)
{
    const struct py_layout *l = &image->rt.layout;
    field(image, IMAGE_BASE, l->runtime.interpreters, IMAGE_INTERP);
    field(image, IMAGE_INTERP, l->interp.next, 0);
    field(image, IMAGE_INTERP, l->interp.threads, IMAGE_THREAD);
    field(image, IMAGE_INTERP, l->interp.gil, IMAGE_GIL);
    uint64_t gil = l->runtime.gil == PY_ABSENT ? IMAGE_GIL : IMAGE_BASE + l->runtime.gil;
    field(image, gil, l->gil.last_holder, IMAGE_THREAD);
    field(image, gil, l->gil.locked, 1);
    for (uint64_t i = 0; i < IMAGE_ITEMS; i++) {
        put_code(image, i);
        put_frame(image, i);
    }
    put_thread(image, 0);
    put_thread(image, 1);
}

/* ---- as the input has it ---- */

uint64_t py_image_address(const struct py_image *image, struct feed *f)
{
    uint8_t how = feed_u8(f);
    if (how < 128 && image->n_fields)
        return image->fields[how % image->n_fields];
    if (how < 224)
        return IMAGE_BASE + (feed_u16(f) & ~7U);
    if (how < 240)
        return IMAGE_BASE + feed_u16(f);
    return feed_u64(f);
}

static uint64_t extreme(uint8_t which)
{
    static const uint64_t values[] = {0,
                                      1,
                                      7,
                                      INT32_MAX,
                                      UINT32_MAX,
                                      INT64_MAX,
                                      UINT64_MAX,
                                      UINT64_MAX - 7,
                                      1ULL << 47,
                                      (1ULL << 47) - 8,
                                      IMAGE_BASE + IMAGE_BYTES - 8,
                                      IMAGE_BASE - 8,
                                      4096,
                                      4095,
                                      1ULL << 63,
                                      0x80000000U};
    return values[which % (sizeof values / sizeof *values)];
}

static void change(struct py_image *image, struct feed *f)
{
    size_t len = 0;
    uint8_t kind = feed_u8(f) % CHANGES;
    if (kind == CHANGE_TORN) {
        image->torn_at = image->reads + feed_u8(f);
        image->torn.at = feed_bytes(f, feed_u8(f), &image->torn.left);
        return;
    }
    uint64_t addr = py_image_address(image, f);
    if (kind == CHANGE_POINTER)
        write_u64(image, addr, py_image_address(image, f));
    else if (kind == CHANGE_WORD)
        write_u64(image, addr, feed_u64(f));
    else if (kind == CHANGE_BYTE)
        write_bytes(image, addr, &(uint8_t){feed_u8(f)}, 1);
    else if (kind == CHANGE_U32)
        write_u32(image, addr, feed_u32(f));
    else if (kind == CHANGE_EXTREME)
        write_u64(image, addr, extreme(feed_u8(f)));
    else {
        const uint8_t *bytes = feed_bytes(f, feed_u16(f) % (4 * ITEM_BYTES), &len);
        if (len)
            write_bytes(image, addr, bytes, len);
    }
}

void py_image_change(struct py_image *image, struct feed *f)
{
    uint8_t n = feed_u8(f) % MAX_CHANGES;
    for (uint8_t i = 0; i < n && f->left; i++)
        change(image, f);
}

static int image_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct py_image *image = (struct py_image *)m;
    if (image->reads++ >= image->torn_at) {
        image->torn_at = SIZE_MAX;
        py_image_change(image, &image->torn);
    }
    uint64_t at = addr - IMAGE_BASE;
    if (at > IMAGE_BYTES || len > IMAGE_BYTES - at)
        return -EFAULT;
    memcpy(buf, image->bytes + at, len);
    return 0;
}

/* 3.13 and later: the offsets that the target says, or, if they are refused, likely ones. */
static void decode_layout(struct py_image *image, uint32_t minor)
{
    struct py_layout *l = &image->rt.layout;
    if (py_layout_decode(minor, image->bytes, PY_DEBUG_OFFSETS_MAX_BYTES, l, NULL) == 0)
        return;
    *l = *py_layout_of(12);
    l->minor = minor;
    l->traits = *py_traits_of(minor);
    l->thread.frame = 72;
    if (minor > 14)
        l->thread.base_frame = 80;
}

void py_image_init(struct py_image *image, struct feed *f)
{
    static const struct mem_ops ops = {.read = image_read};
    memset(image, 0, sizeof *image);
    image->mem.ops = &ops;
    image->torn_at = SIZE_MAX;
    image->rt.addr = IMAGE_BASE;
    image->rt.module_end = UINT64_MAX;
    uint8_t version = feed_u8(f);
    uint32_t minor = PY_OLDEST_MINOR + version % 10;
    image->rt.code_type = version & 128 ? 0 : IMAGE_TYPE;
    if (minor <= 12) {
        image->rt.layout = *py_layout_of(minor);
    } else {
        put_debug_offsets(image);
        py_image_change(image, f);
        decode_layout(image, minor);
    }
    image->n_fields = 0;
    put_python(image);
    py_image_change(image, f);
}
