/* Live memory read in blocks that are kept, for a reader that follows many pointers close to each
 * other: a read costs a system call, whatever its size.  Kept blocks grow old, so the reader says
 * with mem_forget() when it looks anew. */
#pragma once

#include "target/mem.h"

/* Reads fail with -EFAULT until mem_blocks_set().  64 KiB. */
struct mem *mem_blocks_new(void);
/* M, of mem_blocks_new(), reads OF from now on, which is borrowed.  Drops all kept blocks. */
void mem_blocks_set(struct mem *m, struct mem *of);
