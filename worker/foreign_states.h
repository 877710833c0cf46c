/* A thread may run a thread state that another thread made: up to CPython 3.12 nothing in it says
 * so, but its frames fit the C stack of the thread that runs it. */
#pragma once

#include "capture/message.h"
#include "pyframes/py_merge.h"
#include "worker/target_process.h"

struct foreign_search {
    int64_t not_before_ns; /* the next search */
    uint64_t found;        /* the thread state that was found last; 0: none */
};

/* After a merge of NATIVE and PYTHON, which are M's, into MERGED, if that left activations without
 * Python frames: tries the live frames of all thread states, if the thread was blocked and has not
 * run since.  True: with those of one or more the stack is complete; they are in PYTHON and MERGED.
 *  False: both are as before. */
bool foreign_states_find(struct foreign_search *a, struct target_process *s,
                         const struct sample_message *m, struct mem *recorded,
                         const struct native_stack *native, struct py_stack *python,
                         struct merged_stack *merged);
