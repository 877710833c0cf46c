/* Waits that are known by how long they take: a network's delays, and time-outs. */
#pragma once

#include "summary/rules.h"

/* " Each takes 41 ms: …", if GROUP's waits at NODE are for the other end of a connection, and take
 * as long as a delay that is known: of TCP's acknowledgements, of a datagram that may be lost.
 * Else " Each lasts until its time-out, 2.0 s: …", if their time-out ends nearly all of them. */
void add_delay(const struct judgement *s, const struct thread_group *group, uint32_t node,
               struct text *words, struct finding *f);
