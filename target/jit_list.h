/* The objects that one JIT compiler in the target has registered with debuggers:
 * __jit_debug_descriptor and the list that it leads to.  All of it is in the target's hands.
 * Private to target/.
 * Source: GDB manual "JIT Compilation Interface", Registering Code. */
#pragma once

#include "target/elf_file.h"
#include "target/mem.h"

/* A symbol of this name is the descriptor. */
#define JIT_DESCRIPTOR "__jit_debug_descriptor"

struct jit_object {
    uint64_t entry;         /* its link in the list */
    struct addr_range file; /* in memory */
};

enum { MAX_JIT_OBJECTS = 1 << 16 };

/* Zero-initialise, with the descriptor's address. */
struct jit_list {
    uint64_t descriptor;
    uint8_t seen[64]; /* the descriptor and the first link as they were when the list was read */
    struct jit_object *items;
    size_t n, capacity;
    bool whole; /* to its end, and nothing changed meanwhile */
};

/* Reads the list again, if it may have changed: one system call if it has not.  The target may
 * be running.  A list that is being changed, or that never ends, is kept as far as it was read.
 * Returns whether ITEMS were replaced. */
bool jit_list_refresh(struct jit_list *l, struct mem *mem);
void jit_list_release(struct jit_list *l);
