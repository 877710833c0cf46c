#include "target/module_open.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/elf_dynamic.h"
#include "target/elf_layout.h"
#include "target/proc.h"

enum { MAX_READS = 1024 }; /* for one symbol; real libraries need some 50 */

/* More than the largest libraries have. */
static const uint64_t MAX_TABLE_BYTES = UINT64_C(16) << 20;

/* An ELF image in the target: offsets are relative to it. */
struct loaded {
    struct mem *mem;
    uint64_t base; /* base of the addresses: the header's address, or the bias */
};

static int read_loaded(void *ctx, uint64_t at, void *buf, size_t len)
{
    const struct loaded *l = ctx;
    return mem_read(l->mem, l->base + at, buf, len);
}

int module_layout(struct mem *mem, uint64_t head, struct elf_layout *ret, uint64_t *ret_bias,
                  struct build_id *ret_id)
{
    struct loaded file = {mem, head};
    if (elf_layout_read(ret, read_loaded, &file) < 0 || !elf_layout_bias(ret, head, 0, ret_bias))
        return -ENOEXEC;
    struct loaded memory = {mem, *ret_bias};
    elf_layout_build_id(ret, read_loaded, &memory, ret_id);
    return 0;
}

/* Are LEN bytes at ELF_ADDR the same in the file F and in memory? */
static bool same_bytes(struct elf_file *f, struct loaded *loaded, uint64_t elf_addr, uint64_t len)
{
    uint8_t in_file[ELF_PAGE_BYTES];
    uint8_t in_memory[ELF_PAGE_BYTES];
    while (len) {
        size_t n = len < sizeof in_file ? (size_t)len : sizeof in_file;
        if (elf_file_read(f, elf_addr, in_file, n) < 0 ||
            read_loaded(loaded, elf_addr, in_memory, n) < 0 || memcmp(in_file, in_memory, n) != 0)
            return false;
        elf_addr += n;
        len -= n;
    }
    return true;
}

/* For a file without a build id on a file system that shows other devices in maps than in stat
 * (overlayfs, btrfs): the program headers and .eh_frame_hdr, which lists the address of every
 * function, must agree.  Two builds that agree in these also unwind alike. */
static bool same_tables(struct elf_file *f, const struct module_source *s)
{
    struct elf_layout layout;
    struct loaded loaded = {s->mem, 0};
    struct build_id id;
    if (!s->head || module_layout(s->mem, s->head, &layout, &loaded.base, &id) < 0)
        return false;
    bool table = false;
    for (size_t i = 0; i < layout.n; i++) {
        const struct elf_segment *segment = &layout.segments[i];
        if (segment->type != PT_GNU_EH_FRAME && segment->type != PT_PHDR)
            continue;
        if (segment->file_bytes > MAX_TABLE_BYTES ||
            !same_bytes(f, &loaded, segment->addr, segment->file_bytes))
            return false;
        table = table || segment->type == PT_GNU_EH_FRAME;
    }
    return table;
}

static bool same_id(const struct elf_file *f, const struct module_source *s)
{
    const struct build_id *id = elf_file_build_id(f);
    return id->len == s->build_id.len && memcmp(id->bytes, s->build_id.bytes, id->len) == 0;
}

static bool is_same(struct elf_file *f, const struct module_source *s)
{
    if (s->build_id.len)
        return same_id(f, s);
    dev_t device;
    ino_t inode;
    if (!elf_file_inode(f, &device, &inode))
        return false;
    /* On one device another number is another file, however alike: it may have other names for
     * the same addresses. */
    if (major(device) == s->mapping.dev_major && minor(device) == s->mapping.dev_minor)
        return inode == s->mapping.inode;
    return same_id(f, s) && same_tables(f, s);
}

/* The mapped file by way of the target's root.  Paths in maps start at the root of the mount
 * namespace, or at ours: where the target's own root lies deeper (chroot), that part goes. */
static char *path_in_root(const struct module_source *s)
{
    char root[PATH_MAX];
    const char *path = s->mapping.path;
    if (proc_read_link(s->pid, "root", root, sizeof root) == 0) {
        size_t len = strlen(root);
        if (str_starts(path, root) && path[len] == '/')
            path += len;
    }
    return xasprintf("/proc/%d/root%s", s->pid, path);
}

/* Takes PATH over. */
static struct elf_file *open_same(struct elf_store *files, char *path,
                                  const struct module_source *s)
{
    struct elf_file *f = NULL;
    if (elf_store_open(files, &f, path) == 0 && !is_same(f, s))
        f = elf_file_free(f);
    free(path);
    return f;
}

struct elf_file *module_open(const struct module_source *s, struct elf_store *files,
                             enum module_origin *ret)
{
    const struct mapping *m = &s->mapping;
    struct elf_file *f = NULL;
    *ret = MODULE_PATH;
    if (m->path[0] == '/') {
        /* The bare path serves when the process has ended. */
        if ((f = open_same(files, path_in_root(s), s)) ||
            (f = open_same(files, xstrdup(m->path), s)))
            return f;
        *ret = MODULE_EXE;
        if ((f = open_same(files, xasprintf("/proc/%d/exe", s->pid), s)))
            return f;
        *ret = MODULE_MAP_FILES;
        if ((f = open_same(files,
                           xasprintf("/proc/%d/map_files/%llx-%llx", s->pid,
                                     (unsigned long long)m->start, (unsigned long long)m->end),
                           s)))
            return f;
    }
    *ret = MODULE_NONE;
    return NULL;
}

struct elf_file *module_from_memory(const struct module_source *s, struct elf_budget *budget)
{
    struct elf_file *f = NULL;
    if (s->head && elf_file_from_memory(&f, s->mem, s->head, budget) == 0 && !same_id(f, s))
        f = elf_file_free(f); /* something else is mapped there by now */
    return f;
}

/* As struct loaded, for what leads from one read to the next. */
struct sparing {
    struct loaded loaded;
    int left; /* reads */
};

static int read_sparingly(void *ctx, uint64_t at, void *buf, size_t len)
{
    struct sparing *s = ctx;
    return s->left-- > 0 ? read_loaded(&s->loaded, at, buf, len) : -EFAULT;
}

int module_exported(const struct module_source *s, const char *name, uint64_t *ret)
{
    struct elf_layout layout;
    struct elf_dynamic dynamic;
    struct build_id id;
    struct addr_range range;
    struct sparing memory = {{s->mem, 0}, MAX_READS};
    if (!s->head || module_layout(s->mem, s->head, &layout, &memory.loaded.base, &id) < 0)
        return -ENOENT;
    uint64_t bias = memory.loaded.base;
    if (elf_dynamic_read(&dynamic, &layout, read_sparingly, &memory, bias) < 0 ||
        elf_dynamic_symbol(&dynamic, read_sparingly, &memory, name, &range) < 0)
        return -ENOENT;
    *ret = range.start + bias;
    return 0;
}
