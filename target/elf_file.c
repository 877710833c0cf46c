/* ELF files and images; see elf_file.h. */
#include "target/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file_use.h"
#include "base/hash.h"
#include "base/text.h"
#include "target/elf_dynamic.h"
#include "target/elf_image.h"
#include "target/elf_layout.h"
#include "target/elf_object.h"

enum {
    MAX_NAME_BYTES = 4096, /* of a symbol; LLVM's longest has 657 */
    MAX_SYMBOLS = ELF_MAX_DYNAMIC_SYMBOLS,
    /* Where the build id is looked for: programs have a handful of sections, of less than a page mostly. */
    MAX_NOTE_SECTIONS = 64,
    MAX_NOTES_BYTES = 1 << 16,
};

struct elf_file {
    Elf *elf;
    char *path;
    const uint8_t *bytes; /* of the whole file, libelf's; or image.bytes */
    size_t len;
    struct elf_image image; /* if from memory */
    struct elf_layout layout;
    struct build_id build_id;
    uint64_t identity; /* see elf_file_identity(); 0: from memory */
    dev_t device;
    ino_t inode;
    struct elf_dynamic dynamic;
    bool has_dynamic;
};

static int read_offset(void *ctx, uint64_t offset, void *buf, size_t len)
{
    const struct elf_file *f = ctx;
    if (offset > f->len || len > f->len - offset)
        return -EFAULT;
    memcpy(buf, f->bytes + offset, len);
    return 0;
}

static int read_addr(void *ctx, uint64_t elf_addr, void *buf, size_t len)
{
    return elf_file_read(ctx, elf_addr, buf, len);
}

/* The section headers' own copy is preferred: in a separate debug file the segments have no
 * contents. */
static void find_build_id(struct elf_file *f)
{
    int n = 0;
    for (Elf_Scn *scn = NULL; n < MAX_NOTE_SECTIONS && (scn = elf_nextscn(f->elf, scn));) {
        GElf_Shdr h;
        if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_NOTE)
            continue;
        n++;
        const Elf_Data *data = elf_rawdata(scn, NULL);
        size_t len = data && data->d_buf ? data->d_size : 0;
        len = len < MAX_NOTES_BYTES ? len : MAX_NOTES_BYTES;
        if (len && elf_notes_build_id(data->d_buf, len, h.sh_addralign, &f->build_id))
            return;
    }
    elf_layout_build_id(&f->layout, read_addr, f, &f->build_id);
}

/* What both kinds have in common, once elf, bytes, len and layout are there. */
static void complete(struct elf_file *f)
{
    find_build_id(f);
    f->has_dynamic = elf_dynamic_read(&f->dynamic, &f->layout, read_addr, f, f->image.bias) == 0;
}

/* O_PATH opens without effect, so the kind of file can be looked at first. */
static int open_regular(const char *path)
{
    int handle = open(path, O_PATH | O_CLOEXEC);
    if (handle < 0)
        return -errno;
    struct stat st;
    int r = fstat(handle, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -ENOEXEC;
    if (r == 0) {
        char name[64];
        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", handle);
        r = open(name, O_RDONLY | O_CLOEXEC);
        r = r < 0 ? -errno : r;
    }
    close(handle);
    return r;
}

static uint64_t identity_of(const struct stat *st)
{
    const uint64_t parts[] = {st->st_dev, st->st_ino, (uint64_t)st->st_size,
                              (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec};
    uint64_t ret = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ret = hash_u64(ret ^ parts[i]);
    return ret | 1;
}

/* Takes FD over.  The file stays mapped, but a descriptor for each of hundreds of modules would soon be
 * too many. */
static int open_fd(struct elf_file **ret, int fd, const char *path, struct err *err)
{
    struct elf_file *f = xcalloc(1, sizeof *f);
    struct stat st = {0};
    f->path = xstrdup(path);
    if (fstat(fd, &st) == 0)
        f->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    f->identity = identity_of(&st);
    f->device = st.st_dev;
    f->inode = st.st_ino;
    if (f->elf && elf_kind(f->elf) == ELF_K_ELF && elf_cntl(f->elf, ELF_C_FDREAD) == 0)
        f->bytes = (const uint8_t *)elf_rawfile(f->elf, &f->len);
    close(fd);
    if (!f->bytes || elf_layout_read(&f->layout, read_offset, f) < 0) {
        elf_file_free(f);
        return err_set(err, -ENOEXEC, "%s: not a 64-bit x86-64 program or library", path);
    }
    complete(f);
    *ret = f;
    return 0;
}

uint64_t elf_file_identity(const struct elf_file *f)
{
    return f->identity;
}

bool elf_file_is_twin(const struct elf_file *a, const struct elf_file *b)
{
    if (a->identity != b->identity || a->len != b->len || a->build_id.len != b->build_id.len ||
        memcmp(a->build_id.bytes, b->build_id.bytes, a->build_id.len) != 0)
        return false;
    /* Of images with a build id alone: the vdso's, or a library's, whose data will differ. */
    return a->identity || (a->build_id.len && memcmp(a->bytes, b->bytes, a->len) == 0);
}

int elf_file_open(struct elf_file **ret, const char *path, struct err *err)
{
    (void)elf_version(EV_CURRENT);
    file_use_opening(path);
    int fd = open_regular(path);
    int r = fd < 0 ? err_set(err, fd, "%s: %s", path, strerror(-fd)) : open_fd(ret, fd, path, err);
    file_use_opened();
    return r;
}

static int open_same(const struct elf_file *f, const char *path)
{
    struct stat st;
    file_use_opening(path);
    int fd = open_regular(path);
    file_use_opened();
    if (fd >= 0 && fstat(fd, &st) == 0 && identity_of(&st) == f->identity)
        return fd;
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : -ESTALE;
}

int elf_file_reopen(const struct elf_file *f)
{
    if (!f->identity)
        return -EBADF;
    int fd = open_same(f, f->path);
    /* "/proc/PID/root" is gone with the process. */
    const char *bare = fd < 0 && str_starts(f->path, "/proc/") ? strstr(f->path, "/root/") : NULL;
    return bare ? open_same(f, bare + strlen("/root")) : fd;
}

int elf_file_again(struct elf_file **ret, const struct elf_file *f)
{
    int fd = elf_file_reopen(f);
    return fd < 0 ? fd : open_fd(ret, fd, f->path, NULL);
}

static struct elf_file *new_without_file(void)
{
    (void)elf_version(EV_CURRENT);
    struct elf_file *f = xcalloc(1, sizeof *f);
    f->path = xstrdup("");
    return f;
}

/* F's image and layout are there, if R is 0.  Takes F over. */
static int open_image(struct elf_file **ret, struct elf_file *f, int r)
{
    f->bytes = f->image.bytes;
    f->len = f->image.len;
    if (r == 0 && !(f->elf = elf_memory((char *)f->image.bytes, f->image.len)))
        r = -ENOEXEC;
    if (r < 0) {
        elf_file_free(f);
        return r;
    }
    complete(f);
    *ret = f;
    return 0;
}

int elf_file_from_memory(struct elf_file **ret, struct mem *mem, uint64_t base,
                         struct elf_budget *budget)
{
    struct elf_budget own = {.bytes = ELF_IMAGES_BYTES};
    struct elf_file *f = new_without_file();
    budget = budget ? budget : &own;
    return open_image(ret, f, elf_image_read(&f->image, &f->layout, mem, base, budget));
}

int elf_file_from_object(struct elf_file **ret, struct mem *mem, const struct addr_range *object,
                         struct elf_budget *budget)
{
    struct elf_budget own = {.bytes = ELF_IMAGES_BYTES};
    struct elf_file *f = new_without_file();
    budget = budget ? budget : &own;
    return open_image(ret, f, elf_object_read(&f->image, &f->layout, mem, object, budget));
}

/* What libdw unpacks of SCN; 0: it is not packed.  The old kind, .zdebug_*, begins with "ZLIB" and the size, big-endian. */
static uint64_t unpacked_bytes(Elf *elf, size_t names, Elf_Scn *scn)
{
    enum { MAGIC_BYTES = 4, HEADER_BYTES = MAGIC_BYTES + 8 };
    GElf_Shdr header;
    GElf_Chdr packed;
    if (!gelf_getshdr(scn, &header))
        return 0;
    if (header.sh_flags & SHF_COMPRESSED)
        return gelf_getchdr(scn, &packed) ? packed.ch_size : UINT64_MAX;
    const char *name = elf_strptr(elf, names, header.sh_name);
    const Elf_Data *data = name && str_starts(name, ".zdebug") ? elf_rawdata(scn, NULL) : NULL;
    uint64_t bytes = 0;
    if (!data || !data->d_buf || data->d_size < HEADER_BYTES ||
        memcmp(data->d_buf, "ZLIB", MAGIC_BYTES) != 0)
        return 0;
    for (size_t i = MAGIC_BYTES; i < HEADER_BYTES; i++)
        bytes = bytes << 8 | ((const uint8_t *)data->d_buf)[i];
    return bytes;
}

bool elf_unpacks_little(Elf *elf)
{
    static const uint64_t MAX_UNPACKED_BYTES = UINT64_C(512) << 20;
    uint64_t left = MAX_UNPACKED_BYTES;
    size_t names;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return true; /* libdw finds no section either */
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        uint64_t bytes = unpacked_bytes(elf, names, scn);
        if (bytes > left)
            return false;
        left -= bytes;
    }
    return true;
}

Elf *elf_file_elf(struct elf_file *f)
{
    return f->elf;
}

bool elf_file_is_file(const struct elf_file *f)
{
    return f->identity != 0;
}

bool elf_file_inode(const struct elf_file *f, dev_t *ret_device, ino_t *ret_inode)
{
    *ret_device = f->device;
    *ret_inode = f->inode;
    return f->identity != 0;
}

const uint8_t *elf_file_bytes(const struct elf_file *f, size_t *ret_len)
{
    *ret_len = f->len;
    return f->bytes;
}

const char *elf_file_path(const struct elf_file *f)
{
    return f->path;
}

const struct build_id *elf_file_build_id(const struct elf_file *f)
{
    return &f->build_id;
}

/* The symbol NAME among SYMBOLS, whose names are in STRINGS.  A global one goes before a local. */
static int find_in_table(const Elf_Data *symbols, const Elf_Data *strings, const char *name,
                         struct addr_range *ret)
{
    size_t name_bytes = strlen(name) + 1;
    size_t n = symbols->d_size / sizeof(Elf64_Sym);
    n = n < MAX_SYMBOLS ? n : MAX_SYMBOLS;
    int r = -ENOENT;
    for (size_t i = 0; i < n; i++) {
        Elf64_Sym s;
        memcpy(&s, (const char *)symbols->d_buf + i * sizeof s, sizeof s);
        if (s.st_shndx == SHN_UNDEF || s.st_name >= strings->d_size ||
            name_bytes > strings->d_size - s.st_name ||
            memcmp((const char *)strings->d_buf + s.st_name, name, name_bytes) != 0)
            continue;
        bool local = ELF64_ST_BIND(s.st_info) == STB_LOCAL;
        if (local && r == 0)
            continue;
        *ret = (struct addr_range){s.st_value, s.st_size};
        r = 0;
        if (!local)
            break;
    }
    return r;
}

/* There is one section of each type at most; of several, which may be one and the same many times, the
 * first counts. */
static int find_in_section(struct elf_file *f, uint32_t type, const char *name,
                           struct addr_range *ret)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(f->elf, scn));) {
        GElf_Shdr h;
        if (!gelf_getshdr(scn, &h) || h.sh_type != type)
            continue;
        const Elf_Data *symbols = elf_rawdata(scn, NULL);
        Elf_Scn *link = elf_getscn(f->elf, h.sh_link);
        const Elf_Data *strings = link ? elf_rawdata(link, NULL) : NULL;
        bool there = symbols && symbols->d_buf && strings && strings->d_buf;
        return there ? find_in_table(symbols, strings, name, ret) : -ENOENT;
    }
    return -ENOENT;
}

int elf_file_exported(struct elf_file *f, const char *name, struct addr_range *ret)
{
    if (!*name) /* the name of section symbols */
        return -ENOENT;
    return f->has_dynamic ? elf_dynamic_symbol(&f->dynamic, read_addr, f, name, ret)
                          : find_in_section(f, SHT_DYNSYM, name, ret);
}

int elf_file_symbol(struct elf_file *f, const char *name, struct addr_range *ret)
{
    int r = elf_file_exported(f, name, ret);
    return r == 0 || !*name ? r : find_in_section(f, SHT_SYMTAB, name, ret);
}

int elf_file_section(struct elf_file *f, const char *name, struct addr_range *ret)
{
    size_t names;
    if (elf_getshdrstrndx(f->elf, &names) < 0)
        return -ENOENT;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(f->elf, scn));) {
        GElf_Shdr h;
        if (!gelf_getshdr(scn, &h))
            continue;
        const char *s = elf_strptr(f->elf, names, h.sh_name);
        if (s && str_eq(s, name)) {
            *ret = (struct addr_range){h.sh_addr, h.sh_size};
            return 0;
        }
    }
    return -ENOENT;
}

/* As much as the segment S holds from ELF_ADDR on, LEN at most.  Returns the number of bytes; 0:
 * they cannot be had. */
static size_t read_segment(struct elf_file *f, const struct elf_segment *s, uint64_t elf_addr,
                           void *buf, size_t len)
{
    uint64_t at = elf_addr - s->addr;
    uint64_t n = at < s->file_bytes ? s->file_bytes - at : s->cut ? 0 : s->mem_bytes - at;
    n = n < len ? n : len;
    if (at >= s->file_bytes)
        memset(buf, 0, n);
    else if (read_offset(f, s->offset + at, buf, n) < 0)
        return 0;
    return n;
}

int elf_file_read(struct elf_file *f, uint64_t elf_addr, void *buf, size_t len)
{
    uint8_t *out = buf;
    while (len) {
        const struct elf_segment *s = elf_layout_load(&f->layout, elf_addr);
        size_t n = s ? read_segment(f, s, elf_addr, out, len) : 0;
        if (!n)
            return -EFAULT;
        out += n;
        elf_addr += n;
        len -= n;
    }
    return 0;
}

/* The string at ELF_ADDR, in place; NULL: it is too long, or does not end inside its segment. */
static const char *string_at(const struct elf_file *f, uint64_t elf_addr)
{
    const struct elf_segment *s = elf_layout_load(&f->layout, elf_addr);
    uint64_t at = s ? elf_addr - s->addr : 0;
    if (!s || at >= s->file_bytes || s->offset > f->len || s->file_bytes > f->len - s->offset)
        return NULL;
    const char *string = (const char *)f->bytes + s->offset + at;
    size_t room = s->file_bytes - at < MAX_NAME_BYTES ? s->file_bytes - at : MAX_NAME_BYTES;
    return memchr(string, '\0', room) ? string : NULL;
}

void elf_file_each_exported(struct elf_file *f,
                            void (*fn)(void *ctx, const char *name, const struct addr_range *where,
                                       uint8_t info),
                            void *ctx)
{
    uint32_t n = f->has_dynamic ? elf_dynamic_count(&f->dynamic, read_addr, f) : 0;
    for (uint32_t i = 1; i < n; i++) {
        Elf64_Sym s;
        if (elf_file_read(f, f->dynamic.symbols + i * sizeof s, &s, sizeof s) < 0)
            return;
        const char *name = s.st_name < f->dynamic.strings_bytes
                               ? string_at(f, f->dynamic.strings + s.st_name)
                               : NULL;
        struct addr_range where = {s.st_value, s.st_size};
        if (s.st_shndx != SHN_UNDEF && name && *name)
            fn(ctx, name, &where, s.st_info);
    }
}

/* Gold, and bfd with -z noseparate-code, have the headers in the segment with the code, at its beginning. */
static bool is_header(const struct elf_layout *l, uint64_t offset)
{
    const Elf64_Ehdr *h = &l->header;
    return offset < sizeof *h ||
           (offset >= h->e_phoff && offset - h->e_phoff < h->e_phnum * sizeof(Elf64_Phdr));
}

uint64_t elf_file_entry(struct elf_file *f)
{
    GElf_Ehdr header;
    return gelf_getehdr(f->elf, &header) ? header.e_entry : 0;
}

bool elf_file_is_code(struct elf_file *f, uint64_t elf_addr)
{
    const struct elf_segment *s = elf_layout_load(&f->layout, elf_addr);
    return s && s->flags & PF_X && !is_header(&f->layout, s->offset + (elf_addr - s->addr));
}

bool elf_file_bias(struct elf_file *f, uint64_t start, uint64_t file_offset, uint64_t *ret)
{
    return elf_layout_bias(&f->layout, start, file_offset, ret);
}

struct elf_file *elf_file_free(struct elf_file *f)
{
    if (!f)
        return NULL;
    elf_end(f->elf);
    elf_image_release(&f->image);
    free(f->path);
    free(f);
    return NULL;
}
