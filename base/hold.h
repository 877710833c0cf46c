/* The hold flag: true on the sampler's thread while a thread of the target is held.
 * Allocator and log assert that it is not set (docs/conventions.md 16): an allocation may fault,
 * a log line may block on a terminal, and either would stretch the hold. */
#pragma once

#include <stdbool.h>

extern _Thread_local bool hold_active;
