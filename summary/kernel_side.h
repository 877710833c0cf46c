/* The other side of a wait in the kernel, in words: a child, the end of a pipe, the holder of a
 * file's lock. */
#pragma once

#include "summary/rules.h"

/* " It waits for its child 4711 (sleep).": whom or what GROUP's waits at NODE are for, where the
 * kernel showed most of their time.  NAMED: the words have the wait's name, with an address in it.
 * Returns whether it added something. */
bool add_kernel_side(const struct judgement *s, const struct thread_group *group, uint32_t node,
                     bool named, struct text *words, struct finding *f);
/* " When idle it waits for 127.0.0.1:5432 of 4711 (postgres).": whose answer the event loops of
 * GROUP wait for while they poll, if most of that time is for one address. */
void add_loops_answer(const struct judgement *s, const struct thread_group *group,
                      struct text *words);
/* " Meanwhile io waits for 127.0.0.1:5432 of 4711 (postgres): …", where GROUP's waits at NODE are
 * for a thread of its own process, and only one other group of it waits for another process. */
void add_go_between(const struct judgement *s, const struct thread_group *group, uint32_t node,
                    struct text *words, struct finding *f);
/* " Meanwhile one of them waits for whoever connects: …", where GROUP's waits at NODE, for a lock,
 * are the turns of servers to accept a connection. */
void add_turns_to_serve(const struct judgement *s, const struct thread_group *group, uint32_t node,
                        struct text *words);
/* " Meanwhile 4711 (xz) is 99% in lzma_code.": what the only recorded process does that GROUP's
 * waits at NODE are for. */
void add_what_it_does(const struct judgement *s, const struct thread_group *group, uint32_t node,
                      struct text *words, struct finding *f);
