/* What the user did while it was recorded, below the answer. */
#pragma once

#include "profile/moments.h"

/* Prints the marks and pauses with their times of day; nothing where there are none. */
void moments_print(const struct profile *p);
