/* A recording on the terminal: first lines, progress, the closing table. */
#pragma once

#include "summary/findings.h"
#include "summary/view.h"
#include "worker/recording.h"

/* Threads of which a Python stack was seen. */
uint32_t report_python_threads(const struct profile *p);
/* "sampling 6823 (python3 train.py, CPython 3.12.7), 63 threads (1 Python), 100 Hz" */
void report_headline(struct recording *r);
/* The line of progress; does nothing where stderr is no terminal. */
void report_progress(struct recording *r);
/* While frames are named.  PERCENT_SHOWN: an int, −1 at first.  False: throw the recording away. */
bool report_naming(void *percent_shown, double share);
/* Does the user want the recording thrown away?  Asked now and then while it is written: tells of
 * the first request to stop. */
bool report_discarded(void);
/* Appends the findings and the closing table.  VERBOSE: also the figures of each rule, whether it
 * applies or not, and the environment. */
void report_add_answer(const struct groups *groups, const struct findings *findings, bool verbose,
                       struct text *out);
/* The tree of several processes with the times of each, for -v. */
void report_processes(const struct profile *p, const struct view_options *options);
/* All texts and numbers, for --stats. */
void report_stats(const struct profile *p);
