#include "pyframes/py_locals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pyframes/py_fixed.h"
#include "pyframes/py_int.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_string.h"
#include "target/secrets.h"

enum { TYPE_NAME_BYTES = 48, MAX_BYTES_SHOWN = 24, MAX_VALUE_COLUMNS = 40 };
enum { BODY = 8 }; /* behind an object's type pointer: the first field of its own */

struct value {
    char type[TYPE_NAME_BYTES]; /* "": unknown */
    bool builtin;               /* a type of the interpreter's own */
    uint64_t count;             /* of items, bytes, digits */
    bool negative;
    uint64_t number; /* of an int with at most PY_INT_DIGITS_READ digits */
    double real;
    struct py_chars chars;
    uint8_t bytes[MAX_BYTES_SHOWN];
};
struct variable {
    struct py_chars name;
    uint64_t addr; /* of its object */
    struct value value;
};

static uint64_t body_of(const struct py_layout *l, uint64_t object)
{
    return object + l->object.type + BODY;
}

/* A name that ends near the end of what is mapped cannot be read in one piece. */
static int read_type_name(struct mem *mem, uint64_t addr, char ret[TYPE_NAME_BYTES])
{
    for (size_t len = TYPE_NAME_BYTES - 1; len >= 4; len /= 2) {
        memset(ret, 0, TYPE_NAME_BYTES);
        if (mem_read(mem, addr, ret, len) == 0)
            return 0;
    }
    ret[0] = '\0';
    return -EFAULT;
}

static int read_type(const struct py_runtime *rt, struct mem *mem, uint64_t object,
                     struct value *ret)
{
    const struct py_layout *l = &rt->layout;
    uint64_t type, name;
    if (mem_read_u64(mem, object + l->object.type, &type) < 0 ||
        mem_read_u64(mem, type + l->object.type + PY_TYPE_NAME, &name) < 0)
        return -EFAULT;
    ret->builtin = type >= rt->module_start && type < rt->module_end;
    return read_type_name(mem, name, ret->type);
}

static int read_int(const struct py_layout *l, struct mem *mem, uint64_t object, struct value *ret)
{
    struct py_int number;
    int r = py_int_read(l, mem, object, &number);
    if (r == 0) {
        ret->negative = number.negative;
        ret->count = number.digits;
        ret->number = number.number;
    }
    return r;
}

static int read_content(const struct py_layout *l, struct mem *mem, uint64_t object,
                        struct value *ret)
{
    uint64_t body = body_of(l, object);
    if (str_eq(ret->type, "int") || str_eq(ret->type, "bool"))
        return read_int(l, mem, object, ret);
    if (str_eq(ret->type, "float"))
        return mem_read(mem, body, &ret->real, sizeof ret->real);
    if (str_eq(ret->type, "str"))
        return py_chars_read(l, mem, object, &ret->chars);
    if (str_eq(ret->type, "set") || str_eq(ret->type, "frozenset"))
        return mem_read_u64(mem, object + l->object.type + PY_SET_USED, &ret->count);
    if (mem_read_u64(mem, body, &ret->count) < 0)
        return -EFAULT;
    if (!str_eq(ret->type, "bytes"))
        return 0;
    size_t len = ret->count < sizeof ret->bytes ? (size_t)ret->count : sizeof ret->bytes;
    return len ? mem_read(mem, object + l->bytes.data, ret->bytes, len) : 0;
}

static bool is_known_type(const char *type)
{
    static const char *const types[] = {"int",   "bool", "float", "str",       "bytes", "list",
                                        "tuple", "dict", "set",   "frozenset", NULL};
    return str_is_one_of(type, types);
}

static void read_value(const struct py_runtime *rt, struct mem *mem, uint64_t object,
                       struct value *ret)
{
    ret->type[0] = '\0';
    if (read_type(rt, mem, object, ret) < 0)
        return;
    /* 3.11 and later: an argument that inner functions use. */
    if (ret->builtin && str_eq(ret->type, "cell")) {
        ret->type[0] = '\0';
        if (mem_read_u64(mem, body_of(&rt->layout, object), &object) < 0 || !object ||
            read_type(rt, mem, object, ret) < 0)
            return;
    }
    if (ret->builtin && is_known_type(ret->type) && read_content(&rt->layout, mem, object, ret) < 0)
        ret->builtin = false; /* the type is all that is known */
}

/* How many arguments F's function has; 0 if that makes no sense. */
static uint32_t count_arguments(const struct py_layout *l, struct mem *mem, uint64_t code)
{
    enum { MOST = 1 << 10 };
    uint32_t positional, keyword_only, flags;
    if (l->frame.locals == PY_ABSENT || l->code.argcount == PY_ABSENT ||
        mem_read_u32(mem, code + l->code.argcount, &positional) < 0 ||
        mem_read_u32(mem, code + l->code.kwonly, &keyword_only) < 0 ||
        mem_read_u32(mem, code + l->code.flags, &flags) < 0 || positional > MOST ||
        keyword_only > MOST)
        return 0;
    return positional + keyword_only + !!(flags & PY_CODE_VARARGS) +
           !!(flags & PY_CODE_VARKEYWORDS);
}

/* How many variables F's function has, *RET_ARGUMENTS of them its arguments, which are the first;
 * with ALL those that are no arguments, too.  Source: co_varnames, from 3.11 on co_localsplusnames,
 * which has cells, too. */
static uint32_t count_variables(const struct py_layout *l, struct mem *mem, uint64_t code, bool all,
                                uint32_t *ret_arguments)
{
    uint32_t n = count_arguments(l, mem, code);
    uint64_t names, size;
    *ret_arguments = n;
    n = n < PY_LOCALS_MAX_ARGUMENTS ? n : PY_LOCALS_MAX_ARGUMENTS;
    if (!all || l->frame.locals == PY_ABSENT || l->code.argcount == PY_ABSENT ||
        mem_read_u64(mem, code + l->code.variables, &names) < 0 ||
        mem_read_u64(mem, body_of(l, names), &size) < 0)
        return n;
    return size < PY_LOCALS_MAX_VARIABLES ? (uint32_t)size : PY_LOCALS_MAX_VARIABLES;
}

/* Variable I of F.  False: it has no value now, or cannot be read. */
static bool read_variable(const struct py_runtime *rt, struct mem *mem, const struct py_frame *f,
                          uint32_t i, struct variable *ret)
{
    const struct py_layout *l = &rt->layout;
    uint64_t names, name, object;
    if (mem_read_u64(mem, f->code + l->code.variables, &names) < 0 ||
        mem_read_u64(mem, py_tuple_items(l, names) + (uint64_t)i * 8, &name) < 0 ||
        py_chars_read(l, mem, name, &ret->name) < 0 ||
        mem_read_u64(mem, f->self + l->frame.locals + (uint64_t)i * 8, &object) < 0)
        return false;
    object &= ~(uint64_t)l->traits.executable_tags;
    if (!object)
        return false;
    ret->addr = object;
    read_value(rt, mem, object, &ret->value);
    return true;
}

void py_locals_record(const struct py_runtime *rt, struct mem *recording,
                      const struct py_stack *stack, bool all)
{
    struct variable variable;
    uint32_t arguments;
    uint32_t left = PY_LOCALS_MAX_TOTAL;
    for (size_t i = 0; i < stack->n && i < PY_LOCALS_MAX_FRAMES; i++) {
        const struct py_frame *f = &stack->frames[i];
        uint32_t n = count_variables(&rt->layout, recording, f->code, all, &arguments);
        for (uint32_t k = 0; k < n && left; k++, left--)
            (void)read_variable(rt, recording, f, k, &variable);
    }
}

/* ---- words ---- */

static void add_masked(void *out, const char *masked)
{
    text_add_tame(out, masked, strlen(masked));
}

/* The text in quotes, its secrets masked.  Of a text that is cut, what follows "://" may be the
 * beginning of a password. */
static void add_quoted(const char *s, size_t len, bool cut, struct text *out)
{
    struct text masked = {0};
    const char *url = cut ? memmem(s, len, "://", 3) : NULL;
    if (url && !memchr(url, '@', len - (size_t)(url - s)))
        len = (size_t)(url - s) + 3;
    text_add(&masked, "");
    secrets_each_argument(s, len, add_masked, &masked);
    bool shorter = cut || utf8_columns(masked.s, masked.len) > MAX_VALUE_COLUMNS - 2;
    text_add(out, "'");
    text_add_bytes(out, masked.s, utf8_cut(masked.s, masked.len, MAX_VALUE_COLUMNS - 3));
    if (!shorter)
        text_add(out, masked.s + utf8_cut(masked.s, masked.len, MAX_VALUE_COLUMNS - 3));
    text_add(out, shorter ? "…'" : "'");
    text_release(&masked);
}

static void add_str(const struct py_chars *chars, struct text *out)
{
    struct text s = {0};
    text_add(&s, "");
    py_chars_add(chars, &s);
    add_quoted(s.s, s.len, chars->cut, out);
    text_release(&s);
}

/* Bytes that are no text are numbers in it: '\x80'. */
static void add_bytes(const struct value *v, struct text *out)
{
    struct text s = {0};
    text_add(&s, "");
    for (size_t i = 0; i < v->count && i < sizeof v->bytes; i++)
        text_addf(&s, v->bytes[i] < ' ' || v->bytes[i] > '~' ? "\\x%02x" : "%c", v->bytes[i]);
    text_add(out, "b");
    add_quoted(s.s, s.len, v->count > sizeof v->bytes, out);
    text_release(&s);
}

static void add_int(const struct value *v, struct text *out)
{
    if (v->count > PY_INT_DIGITS_READ)
        text_addf(out, "%sint of up to %" PRIu64 " bits", v->negative ? "-" : "",
                  v->count < UINT32_MAX ? v->count * PY_DIGIT_BITS : UINT32_MAX);
    else
        text_addf(out, "%s%" PRIu64, v->negative ? "-" : "", v->number);
}

static void add_value(const struct value *v, struct text *out)
{
    if (!v->type[0])
        text_add(out, "?");
    else if (v->builtin && str_eq(v->type, "NoneType"))
        text_add(out, "None");
    else if (v->builtin && str_eq(v->type, "bool"))
        text_add(out, v->number ? "True" : "False");
    else if (v->builtin && str_eq(v->type, "int"))
        add_int(v, out);
    else if (v->builtin && str_eq(v->type, "float"))
        text_addf(out, "%.6g", v->real);
    else if (v->builtin && str_eq(v->type, "str"))
        add_str(&v->chars, out);
    else if (v->builtin && str_eq(v->type, "bytes"))
        add_bytes(v, out);
    else if (v->builtin && is_known_type(v->type))
        text_addf(out, "%s of %" PRIu64, v->type, v->count);
    else {
        text_add(out, "<");
        text_add_tame(out, v->type, strlen(v->type));
        text_add(out, ">");
    }
}

/* Appends the name of V, and "=" or whatever stands BEHIND it, and its value to VALUE, which may be
 * the same text. */
static void add_variable(const struct variable *v, const char *behind, struct text *out,
                         struct text *value)
{
    struct text name = {0};
    text_add(&name, "");
    py_chars_add(&v->name, &name);
    text_add_tame(out, name.s, utf8_cut(name.s, name.len, MAX_VALUE_COLUMNS));
    text_add(out, behind);
    if (secrets_is_name(name.s, name.len))
        text_add(value, "***");
    else
        add_value(&v->value, value);
    text_release(&name);
}

/* A variable of the last frame of L. */
static void keep(struct py_locals *l, const struct variable *v, bool argument)
{
    struct text name = {0};
    struct text value = {0};
    text_add(&name, "");
    text_add(&value, "");
    add_variable(v, "", &name, &value);
    l->variables = array_reserve(l->variables, &l->variables_capacity, l->n_variables + 1,
                                 sizeof *l->variables);
    l->variables[l->n_variables++] =
        (struct py_local){l->n - 1, argument, v->addr, name.s, value.s};
}

static struct text *next_text(struct py_locals *l)
{
    size_t had = l->capacity;
    l->frames = array_reserve(l->frames, &l->capacity, l->n + 1, sizeof *l->frames);
    if (l->capacity > had)
        memset(l->frames + had, 0, (l->capacity - had) * sizeof *l->frames);
    struct text *text = &l->frames[l->n++];
    text_clear(text);
    text_add(text, "");
    return text;
}

void py_locals_add(struct py_locals *l, const struct py_runtime *rt, struct mem *mem,
                   const struct py_frame *f, bool all)
{
    struct text *out = next_text(l);
    struct variable variable;
    uint32_t arguments;
    uint32_t n = count_variables(&rt->layout, mem, f->code, all, &arguments);
    for (uint32_t i = 0; i < n; i++) {
        if (!read_variable(rt, mem, f, i, &variable))
            continue;
        if (i < arguments && i < PY_LOCALS_MAX_ARGUMENTS) {
            text_add(out, out->len ? ", " : "");
            add_variable(&variable, "=", out, out);
        }
        if (all)
            keep(l, &variable, i < arguments);
    }
    if (out->len && arguments > PY_LOCALS_MAX_ARGUMENTS)
        text_add(out, ", …");
}

struct py_locals py_locals_take(struct py_locals *l)
{
    struct py_locals taken = *l;
    *l = (struct py_locals){0};
    return taken;
}

void py_locals_clear(struct py_locals *l)
{
    for (size_t i = 0; i < l->n_variables; i++) {
        free(l->variables[i].name);
        free(l->variables[i].value);
    }
    l->n = l->n_variables = 0;
}

void py_locals_release(struct py_locals *l)
{
    py_locals_clear(l);
    for (size_t i = 0; i < l->capacity; i++)
        text_release(&l->frames[i]);
    free(l->frames);
    free(l->variables);
    *l = (struct py_locals){0};
}
