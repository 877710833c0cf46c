/* The symbol table that Fedora and others keep, compressed by xz, in .gnu_debugdata of stripped
 * files: the functions that .dynsym does not have.
 * Source: gdb manual "MiniDebugInfo".  liblzma unpacks it, because elfutils does not export its
 * decoder (and loads liblzma itself); dwelf_elf_begin() would need a file and does not bound the
 * output. */
#pragma once

#include <libelf.h>

enum { MAX_MINI_DEBUG_BYTES = 256 << 20 };

struct mini_debug {
    Elf *elf;
    uint8_t *bytes;
};

/* Returns 0; -ENOENT: ELF has none; -EPROTO: it is malformed, or more than MAX_MINI_DEBUG_BYTES. */
int mini_debug_open(struct mini_debug *ret, Elf *elf);
void mini_debug_release(struct mini_debug *m); /* zeroed is fine */
