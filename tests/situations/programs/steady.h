/* What the programs share: how long they run, whether as the twin without the fault, and the truth
 * that they tell at their end.  Nothing here stands on a stack for long. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct steady {
    bool twin;
    double start_s, end_s; /* by now() */
};

double now(void); /* seconds of the monotonic clock */
/* Arguments: SECONDS [--twin].  Says "ready": from here on the program does the same all the
 * time. */
struct steady steady_begin(int argc, char **argv);
/* Asked before each round.  How many rounds a second the thread that began has done, "work_per_s",
 * is told at the end: with the fault and without it. */
bool steady_goes_on(const struct steady *s);
void steady_round_is(double work); /* where the twin's are longer ones */
/* VALUE in each second since the beginning: of seconds the share, of events the rate. */
double steady_per_second(const struct steady *s, double value);
/* fork() of another program, as far as this one is concerned: not its child.  True in that one,
 * which has nothing to say. */
bool steady_fork_apart(void);
void steady_tell(const char *name, double value); /* prints it as JSON */

#ifdef __cplusplus
}
#endif
