#include "pyframes/py_code_key.h"

#include "base/hash.h"

/* From 3.11 on the bytecode is part of the object, whose variable size it is. */
static bool holds_bytecode(const struct py_layout *l)
{
    return l->code.qualname != PY_ABSENT;
}

static uint32_t bytecode_offset(const struct py_layout *l)
{
    return holds_bytecode(l) ? l->bytes.size : l->code.bytecode;
}

size_t py_code_key_bytes(const struct py_layout *l)
{
    const uint32_t fields[] = {
        l->object.type,    l->code.filename,   l->code.name,   l->code.qualname, l->code.first_line,
        l->code.linetable, bytecode_offset(l), l->code.consts, l->code.names,    l->code.version};
    size_t end = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i] != PY_ABSENT && fields[i] + sizeof(uint64_t) > end)
            end = fields[i] + sizeof(uint64_t);
    return end;
}

struct py_code_key py_code_key_of(const struct py_layout *l, const uint8_t *code)
{
    return (struct py_code_key){
        .type = py_layout_word(code, l->object.type),
        .filename = py_layout_word(code, l->code.filename),
        .name = py_layout_word(code, l->code.name),
        .qualname = py_layout_word(code, l->code.qualname),
        .linetable = py_layout_word(code, l->code.linetable),
        .bytecode = py_layout_word(code, bytecode_offset(l)),
        .consts = py_layout_word(code, l->code.consts),
        .names = py_layout_word(code, l->code.names),
        .version = (uint32_t)py_layout_word(code, l->code.version),
        .first_line = (int32_t)(uint32_t)py_layout_word(code, l->code.first_line),
    };
}

bool py_code_key_same(const struct py_code_key *a, const struct py_code_key *b)
{
    return a->type == b->type && a->filename == b->filename && a->name == b->name &&
           a->qualname == b->qualname && a->linetable == b->linetable &&
           a->bytecode == b->bytecode && a->consts == b->consts && a->names == b->names &&
           a->version == b->version && a->first_line == b->first_line;
}

uint64_t py_code_key_name(const struct py_layout *l, const struct py_code_key *key)
{
    return l->code.qualname != PY_ABSENT ? key->qualname : key->name;
}

uint64_t py_code_key_units(const struct py_layout *l, const struct py_code_key *key)
{
    return holds_bytecode(l) ? key->bytecode : UINT64_MAX;
}

uint64_t py_code_key_hash(const struct py_code_key *key)
{
    const uint64_t fields[] = {
        key->type,     key->filename, key->name,  key->qualname, key->linetable,
        key->bytecode, key->consts,   key->names, key->version,  (uint32_t)key->first_line};
    return hash_bytes(fields, sizeof fields);
}
