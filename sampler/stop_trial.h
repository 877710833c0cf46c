/* A child of wallspy's own, to try on it what is done to the threads that are sampled. */
#pragma once

#include <sys/types.h>

/* Forks a child that computes until stop_trial_end(), or until the calling thread ends.  Returns 0
 * and its pid, or a negative errno of fork(2). */
int stop_trial_start(pid_t *ret);
/* Stops CHILD as tracer.h does, reads its registers and lets it go.  Returns 0, or the negative
 * errno of the first ptrace(2) that failed.  For a thread that no sampler's thread runs beside.
 * Source: ptrace(2). */
int stop_trial_run(pid_t child);
/* Kills CHILD and takes its end. */
void stop_trial_end(pid_t child);
