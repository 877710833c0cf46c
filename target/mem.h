/* Reading the target's memory.  One interface for a live process, for ranges recorded in a snapshot
 * and for a fuzzer's bytes, so that every reader runs unchanged on all three.
 * Source: process_vm_readv(2), proc_pid_mem(5). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct mem {
    const struct mem_ops *ops;
};

struct mem_span {
    uint64_t addr;
    void *buf;
    size_t len;
};

struct mem_ops {
    int (*read)(struct mem *m, uint64_t addr, void *buf, size_t len);
    size_t (*read_spans)(struct mem *m, const struct mem_span *spans, size_t n); /* may be NULL */
    void (*forget)(struct mem *m);                                               /* may be NULL */
    void (*free)(struct mem *m);
};

/* Copies [ADDR, ADDR+LEN) into BUF, all or nothing: after a failure the content of BUF is
 * undefined.  Returns 0, -EFAULT (not mapped or not recorded), -ESRCH (process gone) or -EPERM
 * (no longer ours to read).  May be called while a thread is held. */
int mem_read(struct mem *m, uint64_t addr, void *buf, size_t len);
/* Reads SPANS one after the other, up to the first page that cannot be read.  One system call on
 * live memory; at most MEM_MAX_SPANS.  Returns the bytes read in all, 0 if none. */
enum { MEM_MAX_SPANS = 256 };
size_t mem_read_spans(struct mem *m, const struct mem_span *spans, size_t n);
/* Forgets the bytes that M keeps of earlier reads (mem_blocks.h); other kinds keep none. */
void mem_forget(struct mem *m);
int mem_read_u64(struct mem *m, uint64_t addr, uint64_t *ret);
int mem_read_u32(struct mem *m, uint64_t addr, uint32_t *ret);

/* The live memory of PID: a thread group id, or the id of any thread that lives.  Where the
 * first thread has ended before the others, nothing can be read through its id.  Uses
 * process_vm_readv, or /proc/PID/mem where that call is refused (ENOSYS, EPERM by seccomp) but
 * the file opens.  Stateless otherwise: several threads may use one object.  The environment
 * variable WALLSPY_NO_VM_READV=1 chooses /proc/PID/mem (for tests).  Returns 0, -ESRCH, or
 * -EPERM with the reason in ERR. */
int mem_live_open(struct mem **ret, pid_t pid, struct err *err);

/* May wallspy call process_vm_readv on PID?  Reads nothing.  Returns 0, or a negative errno, also
 * with that variable: then mem_live_open() takes /proc/PID/mem. */
int mem_probe_vm_readv(pid_t pid);

struct mem *mem_free(struct mem *m); /* NULL is fine; returns NULL */
