/* A speedscope file that wallspy wrote, read back as far as it holds the recording: threads with
 * their states and stacks, what they wait in, and the findings in words.  Whom a wait is for, lines
 * within functions and the times of idle threads are not in it. */
#pragma once

#include "base/err.h"
#include "profile/profile.h"
#include "summary/findings.h"

struct speedscope {
    struct profile *p;                  /* has ended */
    struct finding items[MAX_FINDINGS]; /* rule, about and words, of the profile */
    struct findings findings;           /* prints all ITEMS; no ledger */
};
/* Is PATH a regular file, plain or compressed by gzip, that begins as a speedscope file does? */
bool speedscope_is(const char *path);
/* Reads PATH.  The file may be hostile.  Returns 0, or a negative errno with ERR, one line that
 * begins with PATH. */
int speedscope_read(struct speedscope *ret, const char *path, struct err *err);
/* The same of LEN bytes, called NAME in ERR. */
int speedscope_read_bytes(struct speedscope *ret, const char *s, size_t len, const char *name,
                          struct err *err);
void speedscope_release(struct speedscope *s);
