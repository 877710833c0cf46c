/* How much memory wallspy may take. */
#pragma once

/* Bounds the whole process at a quarter of the machine's memory, 1 to 2 GiB.  What reads a target is
 * bounded already; but libdw clears as many registers as unwind information names (0.188: 2 GB, and
 * again with each DW_CFA_remember_state), and a target may be as hostile as that.  Past the bound an
 * allocation of libdw's fails, which is no more than a missing rule.
 * To be called when the command has been launched: it would inherit it.  Does nothing where that much is in use already (sanitizers
 * reserve terabytes).  Source: setrlimit(2), RLIMIT_DATA; proc_pid_statm(5). */
void memory_limit(void);
