/* Names for addresses in tests, straight from the symbol tables and with all aliases. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "target/modules.h"

/* Is WANT a name of the function at ADDR, or "[module]" with the base name of its module?
 * SYMBOLS: a file to take the main program's symbols from (its unstripped twin), or NULL. */
bool naming_is(struct modules *modules, uint64_t addr, const char *symbols, const char *want);
/* Adds a name of the function at ADDR, or [module]+offset. */
void naming_add(struct modules *modules, uint64_t addr, const char *symbols, struct text *out);
