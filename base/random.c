#include "base/random.h"

/* xorshift64 (G. Marsaglia): good enough against lockstep with what others do. */
double random_share(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) / 9007199254740992.0;
}
