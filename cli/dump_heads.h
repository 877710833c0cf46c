/* The first lines of a dump: each process, those that run the same program folded, and the
 * faults. */
#pragma once

#include "dump/dump.h"

/* Appends "28095 ./dead: 5 threads, none of them ran in the 0.5 s of this look", or for three
 * processes or more of one program "64 x python3 train.py: 512 threads, …" with their ranks, pids,
 * and the waits of their main threads, the rarest first; then the faults. */
void dump_heads_add(const struct dump *d, struct text *out);
