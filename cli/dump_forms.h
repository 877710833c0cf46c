/* A dump as people and as programs read it. */
#pragma once

#include <stdio.h>

#include "dump/dump.h"

/* As text: what is wrong first, then each stack once, with the list of its threads.  Returns 0 or
 * the negative errno of the first failed write. */
int dump_text(struct dump *d, FILE *out);
int dump_write_block(struct text *block, FILE *out); /* BLOCK is empty then; returns the same */
/* The schema dump/1: every thread by itself.  Returns as dump_text() does. */
int dump_json(struct dump *d, FILE *out);
