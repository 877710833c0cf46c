#include "arch/stores.h"

#include "base/bytes.h"

/* Does an operand `[reg + OFFSET]` begin with the ModRM at AT: mod 2, a SIB if rm is 4,
 * displacement?  *RET_END: what follows it. */
static bool is_at(const uint8_t *at, uint32_t offset, const uint8_t **ret_end)
{
    enum { MOD = 0xc0, MOD_DISP32 = 0x80, RM = 7, RM_SIB = 4 };
    if ((at[0] & MOD) != MOD_DISP32)
        return false;
    at += (at[0] & RM) == RM_SIB ? 2 : 1;
    *ret_end = at + sizeof offset;
    return get_u32(at) == offset;
}

/* C7, 89. */
bool code_stores(const uint8_t *bytes, size_t from, size_t to, uint32_t offset, uint32_t value,
                 bool any)
{
    enum { MOV_REGISTER = 0x89, MOV_CONSTANT = 0xc7, LONGEST = 11 };
    for (size_t i = from; i + LONGEST <= to; i++) {
        const uint8_t *at = bytes + i;
        bool constant = at[0] == MOV_CONSTANT;
        if ((constant || (any && at[0] == MOV_REGISTER)) && is_at(at + 1, offset, &at) &&
            (!constant || get_u32(at) == value))
            return true;
    }
    return false;
}

/* F0, maybe a REX, 0F B1. */
bool code_exchanges(const uint8_t *bytes, size_t n, uint32_t offset)
{
    enum { LOCK = 0xf0, REX = 0x40, REX_MASK = 0xf0, LONGEST = 10 };
    for (size_t i = 0; i + LONGEST <= n; i++) {
        const uint8_t *at = bytes + i;
        if (*at++ != LOCK)
            continue;
        at += (*at & REX_MASK) == REX;
        if (at[0] == 0x0f && at[1] == 0xb1 && is_at(at + 2, offset, &at))
            return true;
    }
    return false;
}
