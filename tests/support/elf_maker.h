/* Makes small ELF files of given sections, for tests of what reads them.  All of the file is one
 * segment of code, loaded at 0. */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_MAKER_BYTES = 0x1000, ELF_MAKER_CODE = 0x100, ELF_MAKER_CODE_BYTES = 0x100 };

/* Zero-initialise. */
struct elf_maker {
    uint8_t bytes[ELF_MAKER_BYTES];
    uint8_t names[256];
    size_t names_bytes, at;
    Elf64_Shdr sections[5];
    uint16_t n;
};

void elf_maker_add(struct elf_maker *m, const char *name, uint64_t flags, const void *bytes,
                   size_t len);
/* Ends the file and writes it to FD.  Nothing can be added after that. */
void elf_maker_write(struct elf_maker *m, int fd);
