/* Threads by the ids that they have in their own pid namespaces, because locks hold these ids. */
#pragma once

#include <stdbool.h>

#include "base/hash.h"
#include "capture/message.h"

struct thread_ids {     /* zero-initialise */
    struct map threads; /* process and ns_tid → tid, of the recorded ones */
    struct map listed;  /* process → when all its threads were last asked for their ids */
};
/* M's thread was met, or has ended. */
void thread_ids_add(struct thread_ids *t, const struct message *m);
void thread_ids_remove(struct thread_ids *t, const struct message *m);
/* The recorded thread of process number PROCESS that is called NS_TID there; 0: none. */
pid_t thread_ids_find(const struct thread_ids *t, uint32_t process, pid_t ns_tid);
/* The same of a thread that is not recorded, of M's process, which is PID.  Sets RET_NONE where
 * there surely is none.  Another pid namespace is searched once a second at most. */
pid_t thread_ids_find_other(struct thread_ids *t, const struct message *m, pid_t pid, pid_t ns_tid,
                            bool *ret_none);
void thread_ids_release(struct thread_ids *t);
