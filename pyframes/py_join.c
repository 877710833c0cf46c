#include "pyframes/py_join.h"

#include <errno.h>

#include "base/text.h"
#include "pyframes/py_dict.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_lock.h"
#include "pyframes/py_string.h"

enum { WORD = 8, DIGIT_BITS = 30, HANDLE_IDENT = 32 };

/* Is F in the function of threading.py that waits? */
static bool is_joining(const struct py_layout *l, struct mem *live, const struct py_frame *f)
{
    const char *wanted = l->traits.join == PY_JOIN_LOCK ? "_wait_for_tstate_lock" : "join";
    struct text text = {0};
    uint64_t name;
    uint64_t file;
    bool is = mem_read_u64(live, f->code + l->code.name, &name) == 0 &&
              py_string_read(l, live, name, &text) == 0 && text.len && str_eq(text.s, wanted);
    text_clear(&text);
    is = is && mem_read_u64(live, f->code + l->code.filename, &file) == 0 &&
         py_string_read(l, live, file, &text) == 0 && text.len && str_ends(text.s, "/threading.py");
    text_release(&text);
    return is;
}

/* A pthread_t, which has one or two digits. */
static uint64_t read_ident(const struct py_layout *l, struct mem *live, uint64_t number)
{
    uint64_t at = number + l->object.type;
    uint64_t size;
    uint32_t digits[2] = {0};
    if (!number || mem_read_u64(live, at + WORD, &size) < 0)
        return 0;
    uint64_t n = l->traits.int_tags ? size >> 3 : size;
    if ((l->traits.int_tags && (size & 3)) || n == 0 || n > 2 ||
        mem_read(live, at + (uint64_t)2 * WORD, digits, n * sizeof *digits) < 0)
        return 0;
    return digits[0] | (uint64_t)digits[1] << DIGIT_BITS;
}

/* Does the thread wait on SEM for the end of the one that THREAD, whose attributes are D, is? */
static bool is_of(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                  uint64_t sem, const struct py_dict *d, uint64_t ident)
{
    const struct py_layout *l = &rt->layout;
    struct py_lock lock;
    uint64_t handle;
    uint64_t its;
    if (l->traits.join == PY_JOIN_LOCK)
        return py_lock_find(rt, live, f, sem, &lock) == 0 &&
               lock.addr == py_dict_find(l, live, d, "_tstate_lock");
    const char *name = l->traits.join == PY_JOIN_HANDLE ? "_handle" : "_os_thread_handle";
    uint64_t object = py_dict_find(l, live, d, name);
    return object && mem_read_u64(live, object + l->object.type + WORD, &handle) == 0 &&
           mem_read_u64(live, handle + HANDLE_IDENT, &its) == 0 && its == ident;
}

int py_join_find(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                 uint64_t sem, uint64_t *ret_thread_id)
{
    const struct py_layout *l = &rt->layout;
    struct py_dict d;
    uint64_t thread;
    if (!is_joining(l, live, f) ||
        mem_read_u64(live, f->self + l->frame.locals, &thread) < 0 || !thread ||
        py_attributes_read(l, live, thread & ~(uint64_t)l->traits.executable_tags, &d) < 0)
        return -ENOENT;
    uint64_t ident = read_ident(l, live, py_dict_find(l, live, &d, "_ident"));
    bool good = ident && is_of(rt, live, f, sem, &d, ident);
    py_dict_release(&d);
    *ret_thread_id = ident;
    return good ? 0 : -ENOENT;
}
