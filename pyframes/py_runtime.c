/* Finding CPython in a target: where, which version, which layout; see py_runtime.h. */
#include "pyframes/py_runtime.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/text.h"
#include "profile/frame.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_version.h"

enum {
    /* libpython's variables have less than 4 MB, those of an executable that contains it may have
     * more.  Executables without Python are searched, too, so this must stay cheap. */
    MAX_DATA_BYTES = 16 << 20,
    CHUNK_BYTES = 1 << 16,
};

struct runtime_search {
    struct modules *modules;
    struct mem *mem;
    struct module *executable; /* or the ld.so that was run to load it; NULL: unknown */
    struct py_runtime *found;
    int result;     /* the best so far: 0, -EAGAIN, -ENOTSUP, -ENOENT */
    struct err err; /* of -ENOTSUP */
};

/* A symbol's address in the target.  The executable comes first, as for the dynamic linker: it
 * may have a copy of a library's variable. */
static int find_symbol(struct runtime_search *s, struct module *m, const char *name, uint64_t *ret)
{
    struct addr_range range;
    struct module *executable = s->executable;
    struct elf_file *elf = executable ? module_elf(s->modules, executable) : NULL;
    if (elf && elf_file_exported(elf, name, &range) == 0) {
        *ret = range.start + executable->bias;
        return 0;
    }
    elf = module_elf(s->modules, m);
    if (!elf || elf_file_symbol(elf, name, &range) < 0)
        return -ENOENT;
    *ret = range.start + m->bias;
    return 0;
}

/* 3.6: PyInterpreterState_Head() is `mov rax, [rip + disp]; ret`, and what it loads is
 * interp_head. */
static int decode_head_getter(struct mem *mem, uint64_t function, uint64_t *ret)
{
    static const uint8_t mov_rip[] = {0x48, 0x8b, 0x05};
    enum { MOV_BYTES = 7, RET = 0xc3 };
    uint8_t code[MOV_BYTES + 1];
    int r = mem_read(mem, function, code, sizeof code);
    if (r < 0)
        return r;
    if (memcmp(code, mov_rip, sizeof mov_rip) != 0 || code[MOV_BYTES] != RET)
        return -ENOENT;
    *ret = function + MOV_BYTES + (uint64_t)(int64_t)get_i32(code + sizeof mov_rip);
    return 0;
}

/* Looks at LEN bytes of variables, those at ADDR in the target; LEN is CHUNK_BYTES or less.  True:
 * ends the search. */
typedef bool (*look_fn)(void *ctx, const uint8_t *bytes, size_t len, uint64_t addr);

static bool look_through(struct mem *mem, const struct mapping *map, look_fn look, void *ctx)
{
    uint8_t *chunk = xmalloc(CHUNK_BYTES);
    bool found = false;
    for (uint64_t at = map->start; at < map->end && !found; at += CHUNK_BYTES) {
        size_t n = map->end - at < CHUNK_BYTES ? map->end - at : CHUNK_BYTES;
        found = mem_read(mem, at, chunk, n) == 0 && look(ctx, chunk, n, at);
    }
    free(chunk);
    return found;
}

/* Searches the module's variables: its writable mappings, and the anonymous one behind them (.bss).
 */
static bool look_through_data(struct runtime_search *s, const struct module *m, look_fn look,
                              void *ctx)
{
    const struct maps *maps = modules_maps(s->modules);
    uint64_t budget = MAX_DATA_BYTES, end = 0;
    for (size_t i = 0; i < maps->n; i++) {
        const struct mapping *map = &maps->items[i];
        bool inside = map->start >= m->start && map->end <= m->end;
        bool bss = map->start == end && map->inode == 0;
        if (!(map->prot & PROT_WRITE) || !(inside || bss))
            continue;
        end = map->end;
        if (map->end - map->start > budget)
            return false;
        budget -= map->end - map->start;
        if (look_through(s->mem, map, look, ctx))
            return true;
    }
    return false;
}

/* 3.13+: _PyRuntime begins with the cookie. */
static bool look_for_cookie(void *ctx, const uint8_t *bytes, size_t len, uint64_t addr)
{
    for (size_t i = 0; i + 8 <= len; i += 8)
        if (memcmp(bytes + i, PY_DEBUG_COOKIE, 8) == 0) {
            *(uint64_t *)ctx = addr + i;
            return true;
        }
    return false;
}

/* Without the symbol Py_Version (3.11+) only sys.version tells the patch level.  CTX: a version
 * whose minor number is known, or 0. */
static bool look_for_version(void *ctx, const uint8_t *bytes, size_t len, uint64_t addr)
{
    struct py_version *version = ctx;
    (void)addr;
    return py_version_from_variables((const char *)bytes, len, version->minor, version);
}

/* Where M keeps its runtime: symbol, section, 3.6's variable, cookie. */
static int locate(struct runtime_search *s, struct module *m, uint64_t *ret)
{
    struct elf_file *elf = module_elf(s->modules, m);
    struct addr_range range;
    uint64_t getter;
    if (find_symbol(s, m, "_PyRuntime", ret) == 0)
        return 0;
    if (elf_file_section(elf, ".PyRuntime", &range) == 0) {
        *ret = range.start + m->bias;
        return 0;
    }
    if (elf_file_symbol(elf, "interp_head", &range) == 0) {
        *ret = range.start + m->bias;
        return 0;
    }
    if (find_symbol(s, m, "PyInterpreterState_Head", &getter) == 0 &&
        decode_head_getter(s->mem, getter, ret) == 0)
        return 0;
    return look_through_data(s, m, look_for_cookie, ret) ? 0 : -ENOENT;
}

/* HEAD: the first 16 bytes at the runtime. */
static bool find_version(struct runtime_search *s, struct module *m, const uint8_t *head,
                         struct py_version *ret)
{
    uint64_t addr;
    uint32_t hex32;
    if (memcmp(head, PY_DEBUG_COOKIE, 8) == 0 && py_version_from_hex(get_u64(head + 8), ret))
        return true;
    if (find_symbol(s, m, "Py_Version", &addr) == 0 && mem_read_u32(s->mem, addr, &hex32) == 0 &&
        py_version_from_hex(hex32, ret))
        return true;
    *ret = (struct py_version){0};
    bool named = py_version_from_name(m->name, ret);
    return look_through_data(s, m, look_for_version, ret) || named;
}

static bool note_extent(void *ctx, const uint8_t *bytes, size_t len, uint64_t addr)
{
    struct py_runtime *rt = ctx;
    (void)bytes;
    rt->gil_start = rt->gil_bytes ? rt->gil_start : addr;
    rt->gil_bytes = addr + len - rt->gil_start;
    return false;
}

/* 3.6: the GIL is some static variables, side by side.  Without .symtab all variables of the
 * interpreter are taken for it: threads wait for no others, because 3.6's locks are on the heap. */
static void locate_old_gil(struct runtime_search *s, struct module *m, struct py_runtime *rt)
{
    static const char *const names[] = {"gil_cond", "gil_mutex", "switch_cond", "switch_mutex"};
    struct elf_file *elf = module_elf(s->modules, m);
    uint64_t start = UINT64_MAX;
    uint64_t end = 0;
    (void)find_symbol(s, m, "_PyThreadState_Current", &rt->current_thread);
    for (size_t i = 0; elf && i < sizeof names / sizeof *names; i++) {
        struct addr_range range;
        if (elf_file_symbol(elf, names[i], &range) < 0)
            continue;
        start = range.start < start ? range.start : start;
        end = range.start + range.len > end ? range.start + range.len : end;
    }
    if (end > start) {
        rt->gil_start = start + m->bias;
        rt->gil_bytes = end - start;
    } else if (!rt->embedded) { /* else there are other variables, too */
        (void)look_through_data(s, m, note_extent, rt);
    }
}

/* Is it a build with Py_TRACE_REFS, with two pointers before every object's own fields?  The type
 * of a type shows it. */
static void note_trace_refs(struct runtime_search *s, struct module *m, struct py_runtime *rt)
{
    enum { TRACE_REFS_BYTES = 16 };
    uint64_t type_type, word;
    uint32_t at = rt->layout.object.type;
    if (!rt->layout.traits.trace_refs_links || rt->code_type == 0 ||
        find_symbol(s, m, "PyType_Type", &type_type) < 0 ||
        mem_read_u64(s->mem, rt->code_type + at, &word) < 0 || word == type_type)
        return;
    if (mem_read_u64(s->mem, rt->code_type + at + TRACE_REFS_BYTES, &word) == 0 &&
        word == type_type)
        py_layout_shift_objects(&rt->layout, TRACE_REFS_BYTES);
}

/* Does a thread state of the first interpreter point back at it?  -EAGAIN: there is none yet, or
 * one that is linked but not filled in (3.11); on a busy machine that may last. */
static int check_lists(struct mem *mem, const struct py_runtime *rt)
{
    /* The target runs: one answer may be torn, three in a row are not. */
    enum { TRIES = 3 };
    const struct py_layout *l = &rt->layout;
    int r = -EAGAIN;
    for (int i = 0; i < TRIES; i++) {
        uint64_t interp, thread, back = UINT64_MAX;
        if (mem_read_u64(mem, rt->addr + l->runtime.interpreters, &interp) < 0)
            return -ENOTSUP;
        if (interp == 0)
            return -EAGAIN;
        if (mem_read_u64(mem, interp + l->interp.threads, &thread) == 0 && thread == 0)
            return -EAGAIN;
        if (mem_read_u64(mem, interp + l->interp.threads, &thread) == 0 &&
            mem_read_u64(mem, thread + l->thread.interp, &back) == 0 && back == interp)
            return 0;
        r = back == 0 ? -EAGAIN : -ENOTSUP;
    }
    return r;
}

/* Fills RT, whose address is known. */
static int describe(struct runtime_search *s, struct module *m, struct py_runtime *rt,
                    struct err *err)
{
    uint8_t head[16];
    struct py_version version;
    if (mem_read(s->mem, rt->addr, head, sizeof head) < 0)
        return -EAGAIN;
    if (!find_version(s, m, head, &version))
        return err_set(err, -ENOTSUP, "%s is a Python of unknown version", m->name);
    int r = py_layout_load(version.minor, s->mem, rt->addr, &rt->layout, err);
    if (r < 0)
        return r;
    static_assert(sizeof rt->version == sizeof version.text, "both hold any version");
    memcpy(rt->version, version.text, sizeof rt->version);
    (void)find_symbol(s, m, "PyCode_Type", &rt->code_type);
    (void)find_symbol(s, m, "_PyEval_EvalFrameDefault", &rt->eval_addr);
    note_trace_refs(s, m, rt);
    if (rt->layout.runtime.gil == PY_ABSENT && rt->layout.interp.gil == PY_ABSENT)
        locate_old_gil(s, m, rt);
    r = check_lists(s->mem, rt);
    if (r == -ENOTSUP)
        (void)err_set(err, r, "CPython %s in %s has an unknown layout", rt->version, m->name);
    return r;
}

/* Keeps RESULT if it says more than the best so far. */
static void note_result(struct runtime_search *s, int result, const struct err *err)
{
    static const int order[] = {-ENOENT, -ENOTSUP, -EAGAIN, 0};
    size_t old = 0, new = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        old = order[i] == s->result ? i : old;
        new = order[i] == result ? i : new;
    }
    if (new <= old)
        return;
    s->result = result;
    if (err)
        s->err = *err;
}

/* Is ADDR no longer the target's?  It has ended, or runs another program, while it was read. */
static bool is_gone(struct mem *mem, uint64_t addr)
{
    uint8_t byte;
    return mem_read(mem, addr, &byte, sizeof byte) < 0;
}

/* Tries the runtime at ADDR of module M. */
static void try_runtime(struct runtime_search *s, struct module *m, uint64_t addr)
{
    struct err err = {0};
    struct py_runtime *rt = xcalloc(1, sizeof *rt);
    rt->addr = addr;
    rt->module_start = m->start;
    rt->module_end = m->end;
    rt->embedded = !py_is_interpreter_name(m->name);
    int r = describe(s, m, rt, &err);
    r = r == -ENOTSUP && is_gone(s->mem, addr) ? -EAGAIN : r;
    note_result(s, r, &err);
    if (r == 0 && !s->found)
        s->found = rt;
    else
        free(rt);
}

/* All places of a module that is likely to be the interpreter. */
static void try_likely(struct runtime_search *s, struct module *m)
{
    uint64_t addr;
    const char *unsupported = py_unsupported_name(m->path);
    if (unsupported) {
        struct err err;
        (void)err_set(&err, -ENOTSUP, "%s is not supported", unsupported);
        note_result(s, -ENOTSUP, &err);
        return;
    }
    if (module_elf(s->modules, m) && locate(s, m, &addr) == 0)
        try_runtime(s, m, addr);
}

/* Exported symbols and section names only: a program may have hundreds of libraries. */
static void try_unlikely(struct runtime_search *s, struct module *m)
{
    struct elf_file *elf = module_elf(s->modules, m);
    struct addr_range range;
    if (elf && (elf_file_exported(elf, "_PyRuntime", &range) == 0 ||
                elf_file_section(elf, ".PyRuntime", &range) == 0))
        try_runtime(s, m, range.start + m->bias);
}

/* A module stays known when it is unmapped: then NULL. */
static struct module *mapped_module(struct modules *modules, uint32_t id)
{
    struct module *m = modules_get(modules, id);
    return modules_find(modules, m->start) == m ? m : NULL;
}

int py_runtime_find(struct py_runtime **ret, struct modules *modules, struct mem *mem,
                    struct err *err)
{
    struct runtime_search s = {.modules = modules, .mem = mem, .result = -ENOENT};
    uint32_t n = (uint32_t)modules_count(modules);
    s.executable = modules_executable(modules);
    for (uint32_t i = 0; i < n && !s.found; i++) {
        struct module *m = mapped_module(modules, i);
        if (m &&
            (m == s.executable || py_is_interpreter_name(m->name) || py_unsupported_name(m->path)))
            try_likely(&s, m);
    }
    for (uint32_t i = 0; i < n && s.result == -ENOENT; i++) {
        struct module *m = mapped_module(modules, i);
        if (m && m != s.executable)
            try_unlikely(&s, m);
    }
    if (s.result == -ENOTSUP)
        return err_set(err, s.result, "%s", s.err.text);
    if (s.result == 0)
        *ret = s.found;
    return s.result;
}

const char *py_runtime_version(const struct py_runtime *rt)
{
    return rt->version;
}

bool py_runtime_find_patch_level(struct py_runtime *rt, struct modules *modules, struct mem *mem)
{
    struct runtime_search s = {.modules = modules, .mem = mem};
    struct module *m = modules_find(modules, rt->module_start);
    struct py_version version = {.minor = rt->layout.minor};
    const char *dot = strchr(rt->version, '.');
    if (!m || !dot || strchr(dot + 1, '.') || !look_through_data(&s, m, look_for_version, &version))
        return false;
    memcpy(rt->version, version.text, sizeof rt->version);
    return true;
}

bool py_runtime_owns(const struct py_runtime *rt, uint64_t addr)
{
    return addr >= rt->module_start && addr < rt->module_end;
}

uint32_t py_runtime_frame_flags(const struct py_runtime *rt, uint64_t addr)
{
    if (!py_runtime_owns(rt, addr))
        return 0;
    return rt->embedded ? FRAME_IS_EMBEDDING : FRAME_IS_INTERPRETER;
}

struct py_runtime *py_runtime_free(struct py_runtime *rt)
{
    free(rt);
    return NULL;
}
