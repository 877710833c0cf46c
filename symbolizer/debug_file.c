#include "symbolizer/debug_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "symbolizer/debuginfod.h"

enum { MAX_ROOTS = 2 };
/* The largest debug file whose checksum is computed, which takes some seconds. */
static const size_t MAX_CRC_BYTES = (size_t)8 << 30;

static const char debug_dir[] = "/usr/lib/debug";

struct debug_search {
    int root_fd; /* -1: it is ours, gone, or not permitted */
    char *roots[MAX_ROOTS];
    size_t n;
    struct debuginfod *debuginfod; /* NULL: not wanted */
};

/* The marks that a debug file must agree with. */
struct debug_wanted {
    const struct build_id *id; /* NULL: by CRC */
    uint32_t crc;
    const struct elf_file *module; /* NULL: none */
};

/* Is the folder at PATH our root, with the same things mounted below it?  False before Linux
 * 5.8. */
static bool is_our_root(const char *path)
{
    const unsigned wanted = STATX_INO | STATX_MNT_ID;
    struct statx its;
    struct statx ours;
    if (statx(AT_FDCWD, path, 0, wanted, &its) < 0 || statx(AT_FDCWD, "/", 0, wanted, &ours) < 0)
        return false;
    return (its.stx_mask & ours.stx_mask & wanted) == wanted && its.stx_ino == ours.stx_ino &&
           its.stx_mnt_id == ours.stx_mnt_id;
}

struct debug_search *debug_search_new(pid_t pid)
{
    struct debug_search *s = xcalloc(1, sizeof *s);
    char *root = xasprintf("/proc/%d/root", (int)pid);
    s->root_fd = is_our_root(root) ? -1 : open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(root);
    if (s->root_fd >= 0)
        s->roots[s->n++] = xasprintf("/proc/self/fd/%d", s->root_fd);
    s->roots[s->n++] = xstrdup("");
    s->debuginfod = debuginfod_open();
    return s;
}

static bool is_same_file(const struct elf_file *a, const struct elf_file *b)
{
    return a && elf_file_identity(a) && elf_file_identity(a) == elf_file_identity(b);
}

static bool has_crc(const struct elf_file *f, uint32_t wanted)
{
    size_t len;
    const uint8_t *bytes = elf_file_bytes(f, &len);
    return len <= MAX_CRC_BYTES && crc32_z(0, bytes, len) == wanted;
}

static bool has_id(const struct elf_file *f, const struct build_id *id)
{
    const struct build_id *own = elf_file_build_id(f);
    return own->len == id->len && memcmp(own->bytes, id->bytes, id->len) == 0;
}

static struct elf_file *open_wanted(const char *path, const struct debug_wanted *w)
{
    struct elf_file *f;
    if (elf_file_open(&f, path, NULL) < 0)
        return NULL;
    bool right = w->id ? has_id(f, w->id) : has_crc(f, w->crc);
    return right && !is_same_file(w->module, f) ? f : elf_file_free(f);
}

/* Tries PATH, and frees it. */
static struct elf_file *try_path(char *path, const struct debug_wanted *w)
{
    struct elf_file *f = open_wanted(path, w);
    free(path);
    return f;
}

static struct elf_file *by_build_id(const struct debug_search *s, const struct debug_wanted *w)
{
    enum { MIN_ID_BYTES = 2 };
    if (!w->id || w->id->len < MIN_ID_BYTES)
        return NULL;
    struct text hex = {0};
    for (size_t i = 1; i < w->id->len; i++)
        text_addf(&hex, "%02x", w->id->bytes[i]);
    struct elf_file *f = NULL;
    for (size_t i = 0; i < s->n && !f; i++)
        f = try_path(xasprintf("%s%s/.build-id/%02x/%s.debug", s->roots[i], debug_dir,
                               w->id->bytes[0], hex.s),
                     w);
    text_release(&hex);
    return f;
}

/* NAME beside the module in DIR, in .debug/ there, and in the debug directory. */
static struct elf_file *by_link(const struct debug_search *s, const struct debug_wanted *w,
                                const char *dir, const char *name)
{
    struct elf_file *f = NULL;
    for (size_t i = 0; i < s->n && !f; i++) {
        const char *root = s->roots[i];
        f = try_path(xasprintf("%s%s/%s", root, dir, name), w);
        if (!f)
            f = try_path(xasprintf("%s%s/.debug/%s", root, dir, name), w);
        if (!f)
            f = try_path(xasprintf("%s%s%s/%s", root, debug_dir, dir, name), w);
    }
    return f;
}

static char *dir_of(const char *path)
{
    size_t len = (size_t)(path_base(path) - path);
    char *dir = xstrdup(path);
    dir[len ? len - 1 : 0] = '\0';
    return dir;
}

static struct elf_file *by_debuginfod(struct debug_search *s, const struct debug_wanted *w)
{
    char *path = s->debuginfod && w->id ? debuginfod_fetch(s->debuginfod, w->id) : NULL;
    return path ? try_path(path, w) : NULL;
}

struct elf_file *debug_search_find(struct debug_search *s, struct elf_file *module,
                                   const char *path)
{
    const struct build_id *id = elf_file_build_id(module);
    struct debug_wanted w = {.id = id->len ? id : NULL, .module = module};
    GElf_Word crc = 0;
    const char *link = dwelf_elf_gnu_debuglink(elf_file_elf(module), &crc);
    w.crc = crc;
    struct elf_file *f = by_build_id(s, &w);
    if (!f && link && *link && !strchr(link, '/') && *path == '/') {
        char *dir = dir_of(path);
        f = by_link(s, &w, dir, link);
        free(dir);
    }
    return f ? f : by_debuginfod(s, &w);
}

struct elf_file *debug_search_find_alt(struct debug_search *s, Dwarf *dwarf,
                                       const struct elf_file *file)
{
    const char *name;
    const void *bytes;
    ssize_t len = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes);
    if (len <= 0 || len > BUILD_ID_MAX_BYTES)
        return NULL;
    struct build_id id = {.len = (size_t)len};
    memcpy(id.bytes, bytes, id.len);
    struct debug_wanted w = {.id = &id};
    struct elf_file *f = by_build_id(s, &w);
    for (size_t i = 0; i < s->n && !f && *name == '/'; i++)
        f = try_path(xasprintf("%s%s", s->roots[i], name), &w);
    if (!f && *name && *name != '/') {
        char *dir = dir_of(elf_file_path(file));
        f = try_path(xasprintf("%s/%s", dir, name), &w);
        free(dir);
    }
    return f ? f : by_debuginfod(s, &w);
}

const char *debug_search_gave_up(const struct debug_search *s)
{
    return s->debuginfod ? debuginfod_gave_up(s->debuginfod) : NULL;
}

void debug_search_give_up(struct debug_search *s, const char *why)
{
    if (s->debuginfod)
        debuginfod_give_up(s->debuginfod, why);
}

struct debug_search *debug_search_free(struct debug_search *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->n; i++)
        free(s->roots[i]);
    if (s->root_fd >= 0)
        close(s->root_fd);
    s->debuginfod = debuginfod_close(s->debuginfod);
    free(s);
    return NULL;
}
