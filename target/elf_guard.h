/* Keeps wallspy alive when an ELF file that it has mapped is cut short on disk, as `cp new.so
 * old.so` does to a library of a running job.  The pages that are gone then read as zeros: such a
 * file gives wrong names or no rules, but the recording goes on.
 * Source: sigaction(2) SIGBUS, BUS_ADRERR; mmap(2). */
#pragma once

#include <stdint.h>

/* Installs the handler of SIGBUS for the whole process.  Call it once, before the first
 * file is opened.  wallspy's own faults still end the process, because only pages that are never
 * written can be replaced.  Returns 0 or a negative errno. */
int elf_guard_install(void);
/* Pages replaced so far, with those of child processes. */
uint64_t elf_guard_pages(void);
/* A child process has replaced N more. */
void elf_guard_add_pages(uint64_t n);
