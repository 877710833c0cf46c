/* Blocked below code that it loaded from an object and, as LLVM does, registered through GDB's JIT
 * interface: the object as it is, with the addresses of its sections filled in.  With the argument
 * "map" it writes a perf map instead, with "silent" neither.
 * STACK: read blocks compiled_inner compiled_outer main [libc.so.6] __libc_start_main _start */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ready.h"

struct jit_code_entry {
    struct jit_code_entry *next, *prev;
    const char *file;
    uint64_t file_bytes;
};

struct jit_descriptor {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
};

struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

typedef void (*compiled)(void (*callback)(void));

NOINLINE static void blocks(void)
{
    say_ready();
    wait_for_test();
}

/* The object beside the program. */
static char *read_object(const char *program, size_t *ret_len)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s_compiled.o", program);
    FILE *f = fopen(path, "rb");
    static char bytes[1 << 16];
    *ret_len = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (!*ret_len)
        exit(2);
    (void)fclose(f);
    return bytes;
}

/* Puts the sections where they will be. */
static char *load(char *object)
{
    const Elf64_Ehdr *header = (const void *)object;
    Elf64_Shdr *sections = (void *)(object + header->e_shoff);
    char *memory =
        mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t used = 64;
    for (size_t i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr *s = &sections[i];
        if (!(s->sh_flags & SHF_ALLOC))
            continue;
        memcpy(memory + used, object + s->sh_offset, s->sh_size);
        s->sh_addr = (uint64_t)(uintptr_t)memory + used;
        used += (s->sh_size + 63) & ~(size_t)63;
    }
    return memory;
}

static compiled find(const char *object, const char *wanted, uint64_t *ret_bytes)
{
    const Elf64_Ehdr *header = (const void *)object;
    const Elf64_Shdr *sections = (const void *)(object + header->e_shoff);
    for (size_t i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        const Elf64_Sym *symbols = (const void *)(object + s->sh_offset);
        for (size_t k = 0; s->sh_type == SHT_SYMTAB && k < s->sh_size / sizeof *symbols; k++)
            if (!strcmp(object + sections[s->sh_link].sh_offset + symbols[k].st_name, wanted)) {
                *ret_bytes = symbols[k].st_size;
                return (compiled)(uintptr_t)(sections[symbols[k].st_shndx].sh_addr +
                                             symbols[k].st_value);
            }
    }
    exit(3);
}

static void write_map(const char *object)
{
    static const char *const names[] = {"compiled_outer", "compiled_inner"};
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *f = fopen(path, "w");
    if (!f)
        exit(4);
    for (size_t i = 0; i < 2; i++) {
        uint64_t bytes;
        uintptr_t start = (uintptr_t)find(object, names[i], &bytes);
        (void)fprintf(f, "%lx %lx %s from a map\n", (unsigned long)start, (unsigned long)bytes,
                      names[i]);
    }
    (void)fclose(f);
}

static void tell(struct jit_code_entry *entry)
{
    __jit_debug_descriptor.relevant = __jit_debug_descriptor.first = entry;
    __jit_debug_descriptor.action = 1;
}

int main(int argc, char **argv)
{
    static struct jit_code_entry entry;
    uint64_t ignored;
    char *object = read_object(argv[0], &entry.file_bytes);
    entry.file = object;
    (void)load(object);
    if (argc == 1)
        tell(&entry);
    else if (strcmp(argv[1], "map") == 0)
        write_map(object);
    find(object, "compiled_outer", &ignored)(blocks);
    NOT_A_TAIL();
    return 0;
}
