/* How much memory wallspy may take. */
#pragma once

#include <stdint.h>

/* Bounds the whole process at a quarter of the machine's memory, 1 to 2 GiB, and twice RECORDING_BYTES on top: to
 * keep a recording of that size and to write it.  What reads a target is bounded already, and
 * unwinder/cfi_check.h keeps from libdw what it would take gigabytes for; this is for what neither knows.  Past
 * the bound an allocation of libdw's fails, which is no more than a missing rule or name.
 * To be called when the command has been launched: it would inherit it.  Does nothing where that much is in use already (sanitizers
 * reserve terabytes).  Source: setrlimit(2), RLIMIT_DATA; proc_pid_statm(5). */
void memory_limit(uint64_t recording_bytes);
