/* Many numbers in few words. */
#pragma once

#include "base/text.h"

/* Appends "9457-9464, 9466" for the N NUMBERS, which it sorts; behind MOST such stretches ", …". */
void number_ranges_add(long *numbers, size_t n, size_t most, struct text *out);
