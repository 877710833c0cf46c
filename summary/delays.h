/* Delays of networks that are known by how long they take. */
#pragma once

#include "summary/rules.h"

/* " Each takes 41 ms: …", if GROUP's waits at NODE are for the other end of a connection, and take
 * as long as a delay that is known: of TCP's acknowledgements, of a datagram that may be lost. */
void add_delay(const struct scene *s, const struct thread_group *group, uint32_t node,
               struct text *words, struct finding *f);
