#include "tests/fuzz/elf_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/bytes_mem.h"
#include "tests/support/mem_image.h"
#include "unwinder/cfi.h"

enum { STACK_BYTES = 256, STACK_ADDR = 0x7000, MAX_STEPS = 8 };

struct elf_file *elf_input_open(const uint8_t *bytes, size_t len)
{
    struct elf_file *f = NULL;
    char path[64];
    int fd = memfd_create("input", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int r = elf_file_open(&f, path, NULL);
    close(fd);
    return r < 0 ? NULL : f;
}

struct elf_file *elf_input_map(const uint8_t *bytes, size_t len)
{
    struct bytes_mem memory = bytes_mem_of(ELF_INPUT_BASE, bytes, len);
    struct elf_file *f = NULL;
    return elf_file_from_memory(&f, &memory.mem, ELF_INPUT_BASE, NULL) < 0 ? NULL : f;
}

struct elf_file *elf_input_object(const uint8_t *bytes, size_t len)
{
    struct bytes_mem memory = bytes_mem_of(ELF_INPUT_BASE, bytes, len);
    struct elf_file *f = NULL;
    struct addr_range object = {ELF_INPUT_BASE, len};
    return elf_file_from_object(&f, &memory.mem, &object, NULL) < 0 ? NULL : f;
}

static void count(void *ctx, const char *name, const struct addr_range *where, uint8_t info)
{
    (void)where;
    (void)info;
    *(size_t *)ctx += strlen(name);
}

/* Walks some frames by the rules of C, from ELF_ADDR on, over a stack that points into code. */
static void unwind_from(struct cfi *c, uint64_t elf_addr)
{
    uint64_t stack[STACK_BYTES / 8];
    struct snapshot snapshot = {.stack_start = STACK_ADDR, .stack_bytes = sizeof stack};
    struct stack_view view;
    struct regs regs = {.known = (1U << X86_COUNT) - 1};
    for (size_t i = 0; i < sizeof stack / 8; i++)
        stack[i] = i % 3 ? STACK_ADDR + 8 * i : elf_addr + i;
    for (size_t i = 0; i < X86_COUNT; i++)
        regs.r[i] = STACK_ADDR + 8 * i;
    struct mem *image = mem_image_new();
    FUZZ_CHECK(mem_image_add(image, STACK_ADDR, stack, sizeof stack) == 0);
    snapshot.stack = (const uint8_t *)stack;
    snapshot.mem = image;
    stack_view_init(&view, &snapshot);
    regs.r[X86_PC] = elf_addr;
    for (int i = 0; i < MAX_STEPS; i++) {
        struct rule rule;
        struct addr_range function;
        struct regs caller;
        uint64_t cfa;
        if (cfi_find(c, regs.r[X86_PC], &rule, &function) < 0)
            break;
        int r = rule.is_root ? -ENOENT : rule_apply(&rule, &regs, &view, &cfa, &caller);
        if (r < 0)
            break;
        regs = caller;
    }
    mem_free(image);
}

void elf_input_use(struct elf_file *f)
{
    static const char *const names[] = {"answer", "_PyRuntime", "f", ""};
    uint8_t buf[64];
    struct addr_range range;
    uint64_t bias;
    size_t all = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)elf_file_symbol(f, names[i], &range);
        (void)elf_file_exported(f, names[i], &range);
    }
    (void)elf_file_section(f, ".PyRuntime", &range);
    elf_file_each_exported(f, count, &all);
    (void)elf_file_bias(f, ELF_INPUT_BASE, 0, &bias);
    FUZZ_CHECK(elf_file_build_id(f)->len <= BUILD_ID_MAX_BYTES);
    struct cfi *c = cfi_open(f);
    for (uint64_t addr = 0; addr < 0x2000; addr += 0x100) {
        (void)elf_file_read(f, addr, buf, sizeof buf);
        (void)elf_file_is_code(f, addr);
        unwind_from(c, addr + addr / 0x100 % 16);
    }
    cfi_free(c);
}
