#include "tests/support/py_stage.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "tests/support/mem_image.h"

void put(struct stage *s, uint64_t addr, const void *bytes, size_t len)
{
    ck_assert(addr >= BASE && addr + len <= BASE + ARENA_BYTES);
    memcpy(s->bytes + (addr - BASE), bytes, len);
}

void put_u64(struct stage *s, uint64_t addr, uint64_t value)
{
    put(s, addr, &value, sizeof value);
}

void put_u32(struct stage *s, uint64_t addr, uint32_t value)
{
    put(s, addr, &value, sizeof value);
}

static int stage_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct stage *s = (struct stage *)m;
    size_t read = s->reads++;
    if (read == s->change_at)
        put_u32(s, CODE + s->rt.layout.code.first_line, 77);
    if (read >= s->fail_at && read - s->fail_at < s->fail_n)
        return s->failure;
    if (addr < BASE || addr - BASE > ARENA_BYTES || len > ARENA_BYTES - (addr - BASE))
        return -EFAULT;
    memcpy(buf, s->bytes + (addr - BASE), len);
    return 0;
}

static const struct mem_ops stage_ops = {.read = stage_read};

void put_str(struct stage *s, uint64_t addr, unsigned kind, const void *data, size_t length)
{
    const struct py_layout *l = &s->rt.layout;
    bool ascii = kind == 0;
    kind = ascii ? 1 : kind;
    put_u64(s, addr + l->unicode.length, length);
    put_u32(s, addr + l->unicode.state, (kind | 8U | (ascii ? 16U : 0U)) << l->unicode.kind_shift);
    put(s, addr + (ascii ? l->unicode.ascii_bytes : l->unicode.compact_bytes), data, length * kind);
}

void put_ascii(struct stage *s, uint64_t addr, const char *text)
{
    put_str(s, addr, 0, text, strlen(text));
}

void put_bytes(struct stage *s, uint64_t addr, const char *data, size_t len)
{
    put_u64(s, addr + s->rt.layout.bytes.size, len);
    put(s, addr + s->rt.layout.bytes.data, data, len);
}

void stage_open(struct stage *s, uint32_t minor)
{
    memset(s, 0, sizeof *s);
    s->mem.ops = &stage_ops;
    s->fail_at = s->change_at = SIZE_MAX;
    s->fail_n = 1;
    s->failure = -EFAULT;
    s->rt.layout = *py_layout_of(minor);
    s->rt.code_type = TYPE;
    const struct py_layout *l = &s->rt.layout;
    put_u64(s, CODE + l->object.type, TYPE);
    put_u64(s, CODE + l->code.name, NAME);
    if (l->code.qualname != PY_ABSENT) {
        put_u64(s, CODE + l->code.qualname, NAME);
        put_u64(s, CODE + l->bytes.size, 8); /* units of bytecode */
    }
    put_u64(s, CODE + l->code.filename, FILE_);
    put_u64(s, CODE + l->code.linetable, TABLE);
    put_u32(s, CODE + l->code.first_line, 10);
    put_ascii(s, NAME, "Op.run");
    put_ascii(s, FILE_, "/src/ops.py");
    put_bytes(s, TABLE, "\xd8\x01\x02\xd8\x01\x02", 6); /* 3.11+: lines 11, 12 */
    s->recorded = mem_image_new();
    s->profile = profile_new(0);
    s->codes = py_codes_new(&s->rt, &s->mem, s->profile, NULL);
}

void stage_close(struct stage *s)
{
    py_codes_free(s->codes);
    profile_free(s->profile);
    mem_free(s->recorded);
}
