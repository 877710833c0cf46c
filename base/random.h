/* Random numbers that need not be secret. */
#pragma once

#include <stdint.h>

/* Uniform in [0, 1).  STATE: the generator's, not 0. */
double random_share(uint64_t *state);
