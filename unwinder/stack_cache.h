/* The outer part of a stack does not change while its thread works further in, so it is not
 * walked again.  A frame that was in the thread's last stack, with the same registers and the
 * same bytes above its stack pointer, has the same callers.  Kept for the few threads that were
 * unwound last, also of several processes, each of which has its own unwinder: the owner. */
#pragma once

#include "unwinder/stack_view.h"
#include "unwinder/unwinder.h"

struct stack_cache;
struct stack_cache *stack_cache_new(void);
struct stack_cache *stack_cache_free(struct stack_cache *c); /* NULL is fine; returns NULL */
/* Forgets all stacks of OWNER, because the code, or the facts about it, may have changed. */
void stack_cache_forget(struct stack_cache *c, const void *owner);
/* An unwind of S begins. */
void stack_cache_begin(struct stack_cache *c, const void *owner, const struct snapshot *s);
/* Was the last frame of OUT, an exact one that is not left yet, in the last stack of the same
 * thread, and are the bytes above it the same?  Then OUT gets all frames outside of it, VIEW
 * counts the bytes that they used, and AT_ROOT is true. */
bool stack_cache_join(struct stack_cache *c, struct native_stack *out, struct stack_view *view,
                      bool *at_root);
/* The unwind is done.  Keeps its outer exact frames if it is SOUND, that is, if it led straight
 * to the root, and if only code and the stack's bytes led to them.  Returns how many frames
 * stack_cache_join() gave. */
size_t stack_cache_end(struct stack_cache *c, const struct native_stack *out,
                       const struct stack_view *view, bool sound);
