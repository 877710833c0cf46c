/* ELF files and images; see elf_file.h. */
#include "target/elf_file.h"

#include <assert.h>
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
#include "target/elf_file_private.h"
#include "target/elf_object.h"

enum {
    /* Where the build id is looked for.  Programs have a handful of sections, of less than a
     * page. */
    MAX_NOTE_SECTIONS = 64,
    MAX_NOTES_BYTES = 1 << 16,
};

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
    elf_layout_build_id(&f->layout, elf_read_addr, f, &f->build_id);
}

/* Completes F, of either kind, once elf, bytes, len and layout are there. */
static void complete(struct elf_file *f)
{
    find_build_id(f);
    f->has_dynamic =
        elf_dynamic_read(&f->dynamic, &f->layout, elf_read_addr, f, f->image.bias) == 0;
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

static struct elf_file_state state_of(const struct stat *st)
{
    return (struct elf_file_state){st->st_dev, st->st_ino, st->st_size, st->st_mtim, st->st_uid};
}

uint64_t elf_identity(const struct stat *st)
{
    const uint64_t parts[] = {st->st_dev, st->st_ino, (uint64_t)st->st_size,
                              (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec};
    uint64_t ret = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ret = hash_u64(ret ^ parts[i]);
    return ret | 1;
}

static struct elf_file *new_file(const char *path)
{
    struct elf_file *f = xcalloc(1, sizeof *f);
    f->users = 1;
    f->path = xstrdup(path);
    return f;
}

/* Takes FD over.  The file stays mapped, but a descriptor for each of hundreds of modules would
 * soon be too many. */
static int open_fd(struct elf_file **ret, int fd, const char *path, struct err *err)
{
    struct elf_file *f = new_file(path);
    struct stat st = {0};
    if (fstat(fd, &st) == 0)
        f->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    f->identity = elf_identity(&st);
    f->state = state_of(&st);
    if (f->elf && elf_kind(f->elf) == ELF_K_ELF && elf_cntl(f->elf, ELF_C_FDREAD) == 0)
        f->bytes = (const uint8_t *)elf_rawfile(f->elf, &f->len);
    close(fd);
    if (!f->bytes || elf_layout_read(&f->layout, elf_read_offset, f) < 0) {
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

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_state(const struct elf_file_state *a, const struct elf_file_state *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           same_time(&a->modified, &b->modified);
}

bool elf_file_is(const struct elf_file *f, const struct stat *st)
{
    const struct elf_file_state state = state_of(st);
    return f->identity && same_state(&f->state, &state);
}

static bool same_id(const struct build_id *a, const struct build_id *b)
{
    return a->len && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

bool elf_file_is_twin(const struct elf_file *a, const struct elf_file *b)
{
    const struct elf_file_state *x = &a->state;
    const struct elf_file_state *y = &b->state;
    if (!a->identity != !b->identity || a->len != b->len)
        return false;
    /* Of images with a build id alone: the vdso's, or a library's, whose data will differ. */
    if (!a->identity)
        return same_id(&a->build_id, &b->build_id) && memcmp(a->bytes, b->bytes, a->len) == 0;
    /* Containers made of one image show a file on several devices.  A build id alone can be forged:
     * only the files' owner could have made two of them. */
    return same_state(x, y) || (same_id(&a->build_id, &b->build_id) && x->owner == y->owner &&
                                same_time(&x->modified, &y->modified));
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
    if (fd >= 0 && fstat(fd, &st) == 0 && elf_file_is(f, &st))
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
    if (fd < 0 && f->other_path)
        fd = open_same(f, f->other_path);
    const char *bare = fd < 0 && str_starts(f->path, "/proc/") ? strstr(f->path, "/root/") : NULL;
    return bare ? open_same(f, bare + strlen("/root")) : fd;
}

/* Of a file that elf_image.h or elf_object.h reads; open_image() opens it. */
static struct elf_file *new_image(void)
{
    (void)elf_version(EV_CURRENT);
    return new_file("");
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
    struct elf_file *f = new_image();
    budget = budget ? budget : &own;
    return open_image(ret, f, elf_image_read(&f->image, &f->layout, mem, base, budget));
}

int elf_file_from_object(struct elf_file **ret, struct mem *mem, const struct addr_range *object,
                         struct elf_budget *budget)
{
    struct elf_budget own = {.bytes = ELF_IMAGES_BYTES};
    struct elf_file *f = new_image();
    budget = budget ? budget : &own;
    return open_image(ret, f, elf_object_read(&f->image, &f->layout, mem, object, budget));
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
    *ret_device = f->state.device;
    *ret_inode = f->state.inode;
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

struct elf_file *elf_file_share(struct elf_file *f)
{
    f->users++;
    return f;
}

void elf_file_add_path(struct elf_file *f, const char *path)
{
    if (str_eq(path, f->path) || (f->other_path && str_eq(path, f->other_path)))
        return;
    free(f->other_path);
    f->other_path = xstrdup(path);
}

void *elf_file_extra(const struct elf_file *f)
{
    return f->extra;
}

void elf_file_set_extra(struct elf_file *f, void *extra, void (*free_extra)(void *extra))
{
    assert(!f->extra);
    f->extra = extra;
    f->free_extra = free_extra;
}

struct elf_file *elf_file_free(struct elf_file *f)
{
    if (!f || --f->users)
        return NULL;
    if (f->extra)
        f->free_extra(f->extra);
    elf_end(f->elf);
    elf_image_release(&f->image);
    free(f->path);
    free(f->other_path);
    free(f);
    return NULL;
}
