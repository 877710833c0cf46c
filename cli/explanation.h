/* What a recording means: its findings and the answer.
 *
 * Whatever explains may have a fault, and no fault of it may cost the recording.  So a forked child
 * explains, before any file is written, and passes what it has made through a pipe.  If it crashes,
 * or takes too long, the files are whole and say that they have no findings; threads that are alike
 * stand apart in a flame graph. */
#pragma once

#include "exporter/exporter.h"
#include "sampler/sampler.h"
#include "summary/findings.h"

struct explanation_request {
    const struct profile *p;
    const struct view_options *views; /* the first is the answer's; one more for each file that
                                         shows some processes only */
    size_t n_views;
    bool verbose; /* the answer with the figures of all rules */
    /* Appends what is said instead of the answer, with SUBJECT; NULL: nothing is. */
    void (*say)(const void *subject, const struct groups *groups, const struct findings *findings,
                struct text *out);
    const void *subject;
    /* Its threads are let go while wallspy forks; NULL: it has ended. */
    struct sampler *running;
    bool (*cancelled)(void); /* asked now and then; true: give up, and say nothing */
};
struct explanation {
    struct export_findings *findings; /* by view */
    const char *answer;               /* "": there is none */
    char *bytes;                      /* what the child has written */
    char *why;                        /* it failed; NULL: it did not */
};
/* Says so where it fails. */
void explanation_make(struct explanation *e, const struct explanation_request *request);
void explanation_release(struct explanation *e);
