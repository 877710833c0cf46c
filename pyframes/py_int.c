#include "pyframes/py_int.h"

#include <assert.h>

#include "pyframes/py_fixed.h"

enum { TAG_SIGN = 3, TAG_NEGATIVE = 2, TAG_BITS = 3 };

int py_int_read(const struct py_layout *l, struct mem *mem, uint64_t addr, struct py_int *ret)
{
    static_assert((int)PY_SIZE == PY_TAGGED_INT_TAG && (int)PY_INT_DIGITS == PY_TAGGED_INT_DIGITS,
                  "tags are where sizes were");
    uint64_t object = addr + l->object.type;
    uint64_t size;
    uint32_t digits[PY_INT_DIGITS_READ] = {0};
    int r = mem_read_u64(mem, object + PY_SIZE, &size);
    if (r < 0)
        return r;
    *ret = (struct py_int){.negative = (int64_t)size < 0};
    ret->digits = ret->negative ? -size : size;
    if (l->traits.int_tags)
        *ret = (struct py_int){size >> TAG_BITS, (size & TAG_SIGN) == TAG_NEGATIVE, 0};
    if (ret->digits == 0 || ret->digits > PY_INT_DIGITS_READ)
        return 0;
    r = mem_read(mem, object + PY_INT_DIGITS, digits, ret->digits * sizeof *digits);
    ret->number = digits[0] | (uint64_t)digits[1] << PY_DIGIT_BITS;
    return r;
}
