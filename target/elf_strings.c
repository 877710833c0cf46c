#include "target/elf_strings.h"

#include <gelf.h>
#include <string.h>

const char *elf_string(Elf *elf, size_t section, size_t at)
{
    enum { MOST_BYTES = 1 << 16 };
    GElf_Shdr header;
    Elf_Scn *scn = elf_getscn(elf, section);
    if (!scn || !gelf_getshdr(scn, &header) || header.sh_type != SHT_STRTAB ||
        header.sh_flags & SHF_COMPRESSED)
        return NULL;
    const Elf_Data *strings = elf_rawdata(scn, NULL);
    if (!strings || !strings->d_buf || at >= strings->d_size)
        return NULL;
    const char *name = (const char *)strings->d_buf + at;
    size_t left = strings->d_size - at;
    return memchr(name, '\0', left < MOST_BYTES ? left : MOST_BYTES) ? name : NULL;
}
