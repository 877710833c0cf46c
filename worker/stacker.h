/* A capture → a stack of the profile: unwinds, walks Python, merges, interns, and says at the end what
 * the thread was waiting for. */
#pragma once

#include "pyframes/py_gil.h"
#include "sampler/message.h"
#include "worker/subject.h"

struct stacker;

struct stacker_options {
    bool no_native, no_python; /* not shown, so not worked out either */
    bool tasks;                /* show which asyncio task runs */
    bool gil_only;             /* only threads that hold the GIL: others give no stack */
};

/* Borrows PROFILE and FEEDBACK (may be NULL). */
struct stacker *stacker_new(struct profile *profile, struct feedback *feedback,
                            const struct stacker_options *options);
/* Tells S what the options need to know of it. */
void stacker_prepare(const struct stacker *st, struct subject *s);
struct stacked {
    stack_id stack;  /* none: not to be shown */
    stack_id frames; /* of STACK: without what the thread's state adds to it */
    stack_id asleep; /* of a thread that was woken and waits for a CPU: as it was; else none */
    bool left_out;   /* not asked for (--gil): no sample at all, nor missed time */
    bool python;     /* it has Python frames */
    struct py_gil_state gil;
    uint64_t python_threads[SNAPSHOT_ANNEX_WORDS]; /* the thread states that it runs; 0: no more */
    bool complete;                                 /* nothing cut, lost or guessed */
};
/* M: a MESSAGE_SAMPLE of S's, with its recorded bytes. */
struct stacked stacker_stack(struct stacker *st, struct subject *s, const struct sample_message *m);
/* OUT: what Python calls M's thread.  False: nothing, or the kernel knows it too. */
bool stacker_thread_name(struct subject *s, const struct sample_message *m, struct text *out);
/* M has no stack: what can be said all the same ("[traced by 880]"), or none. */
struct stacked stacker_mark(struct stacker *st, struct subject *s, const struct sample_message *m);
/* Sets what was counted so far in the profile's facts. */
void stacker_report(const struct stacker *st, struct profile *profile);
struct stacker *stacker_free(struct stacker *st);
