/* The formats behind exporter.h's table; each writes as struct exporter says. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"
#include "summary/view.h"

int speedscope_write(struct profile *p, const struct view_options *options, FILE *out);
int folded_write(struct profile *p, const struct view_options *options, FILE *out);
