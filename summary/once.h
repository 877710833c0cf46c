/* What is made once, by whichever thread comes first, while the others wait: a static variable of a
 * C++ function, what pthread_once(3) and std::call_once() call.  Nothing that can be read has the
 * name of who makes it.  But the function that asks for it is on the stack of that thread, too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct shown_frame;
/* The function by which a thread with STACK, outermost first, waits until another one has made it;
 * NULL: it waits for no such thing. */
const struct shown_frame *once_asker(const struct shown_frame *stack, size_t n);
/* May a thread with STACK make what those wait for that ask in ASKER? */
bool once_makes(const struct shown_frame *asker, const struct shown_frame *stack, size_t n);
