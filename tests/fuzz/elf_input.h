/* An input as an ELF file, and as the memory of a process that has it mapped. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "target/elf_file.h"
#include "target/mem.h"

enum { ELF_INPUT_BASE = 0x400000 };

/* Opens BYTES as a file of that content.  NULL: refused. */
struct elf_file *elf_input_open(const uint8_t *bytes, size_t len);
/* The same as it would lie in memory at ELF_INPUT_BASE, if offsets and addresses are the same. */
struct elf_file *elf_input_map(const uint8_t *bytes, size_t len);
/* The same as an object that a JIT compiler keeps in memory. */
struct elf_file *elf_input_object(const uint8_t *bytes, size_t len);
/* Asks for whatever is asked of a module: symbols, sections, unwind rules, which are applied. */
void elf_input_use(struct elf_file *f);
