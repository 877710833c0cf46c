/* A capture → a stack and a wait of the profile: unwinds, walks Python, merges, interns. */
#pragma once

#include "capture/message.h"
#include "pyframes/py_gil.h"
#include "pyframes/py_locals.h"
#include "worker/target_process.h"

struct stack_builder;
struct waits;

struct stack_options {
    bool no_native, no_python; /* not shown, so not worked out either */
    bool tasks;                /* show which asyncio task runs */
    bool locals;               /* give the arguments of Python's functions */
    bool all_locals;           /* with LOCALS: and all their variables, one by one */
    bool gil_only;             /* only threads that hold the GIL: others give no stack */
};

/* Borrows PROFILE, FEEDBACK, which may be NULL, and WAITS. */
struct stack_builder *stack_builder_new(struct profile *profile, struct feedback *feedback,
                                        struct waits *waits, const struct stack_options *options);
/* Sets up S as the options need it. */
void stack_builder_prepare(const struct stack_builder *st, struct target_process *s);
struct built_stack {
    struct spot at; /* nothing: hidden */
    /* Of a thread that waits for a CPU: where it was if it proves not to have waited. */
    struct spot settled;
    bool was_woken;       /* it waits for a CPU, and SETTLED for what it was blocked in before */
    int64_t times_out_ns; /* when its call's time-out ends the wait; 0: never, or unknown */
    bool left_out;        /* not asked for (--gil): no sample at all, nor missed time */
    bool python;          /* it has Python frames */
    /* Of a thread that waits for a CPU. */
    bool plain;           /* no native frame is below its Python frames */
    uint64_t python_hash; /* of those; 0: none */
    uint64_t outer_hash;  /* the same, wherever in its function the innermost is */
    stack_id plain_stack; /* of one that was not asked to stop: those alone, without a mark */
    struct py_gil_state gil;
    uint64_t python_threads[SNAPSHOT_HOOK_WORDS]; /* the thread states that it runs; 0: no more */
    bool complete;                                /* nothing cut, lost or guessed */
    /* The arguments of its Python frames, outermost first, if they were asked for; the builder's,
     * until the next stack.  The variables may be taken. */
    struct py_locals *locals;
};
/* M: a MESSAGE_SAMPLE of S's, with its recorded bytes. */
struct built_stack stack_builder_build(struct stack_builder *st, struct target_process *s,
                                       const struct sample_message *m);
/* OUT: Python's name of M's thread.  False: it has none, or the kernel knows it, too. */
bool stack_builder_thread_name(struct target_process *s, const struct sample_message *m,
                               struct text *out);
/* M has no stack: a wait that says why ("[traced by 880]"), or nothing. */
struct built_stack stack_builder_mark(struct stack_builder *st, struct target_process *s,
                                      const struct sample_message *m);
/* Sets what was counted so far in the profile's facts. */
void stack_builder_report(const struct stack_builder *st, struct profile *profile);
struct stack_builder *stack_builder_free(struct stack_builder *st);
