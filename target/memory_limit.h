/* How much memory wallspy may take. */
#pragma once

#include <stdint.h>

/* Bounds the memory of the whole process: a quarter of the machine's, 1 to 2 GiB, and on top twice
 * RECORDING_BYTES, to keep a recording of that size and to write it.  The readers of a target have
 * bounds of their own; this bound is for what libdw takes for names.  Past the bound an allocation
 * of libdw's fails, which costs a name.  Call it once the command is launched, because the command
 * would inherit the bound.  Does nothing where more memory is in use already (sanitizers reserve
 * terabytes).
 * Source: setrlimit(2), RLIMIT_DATA; proc_pid_statm(5). */
void memory_limit(uint64_t recording_bytes);
