/* The outer part of a stack does not change while the thread works further in.  What was walked before need not be
 * walked again: a frame that is there with the same registers, all bytes above its stack pointer being the same, has the
 * same callers.  Kept for the few threads that were unwound last. */
#pragma once

#include "unwinder/stack_view.h"
#include "unwinder/unwinder.h"

struct trails;
struct trails *trails_new(void);
struct trails *trails_free(struct trails *t); /* NULL is fine; returns NULL */
/* Forgets all: code, or what is known of it, may be another now. */
void trails_forget(struct trails *t);
/* An unwind of S begins. */
void trails_begin(struct trails *t, const struct snapshot *s);
/* Was the last frame of OUT, an exact one that is not left yet, in the last stack of the same thread, and are the bytes
 * above it the same?  Then OUT gets all outside of it, VIEW has used what that took, and AT_ROOT is true. */
bool trails_join(struct trails *t, struct native_stack *out, struct stack_view *view,
                 bool *at_root);
/* The unwind is done: if it is SOUND, which is to say led straight to the root, keeps its outer part, those frames that are exact, if nothing but code and the stack's bytes led to
 * them.  Returns how many frames trails_join() gave. */
size_t trails_end(struct trails *t, const struct native_stack *out, const struct stack_view *view,
                  bool sound);
