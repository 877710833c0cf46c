#include "summary/frame_role.h"

#include <string.h>

#include "summary/frame_name.h"
#include "summary/known.h"
#include "summary/python_module.h"

/* ---- Python ---- */

bool frame_is_signal(const struct shown_frame *f)
{
    return f->libc && str_is_one_of(f->name, (const char *const[]){"__restore_rt", "__restore",
                                                                   "__kernel_rt_sigreturn", NULL});
}

bool frame_is_asyncio(const struct shown_frame *f)
{
    return f->kind == SHOWN_PYTHON && f->file && python_is_asyncio(f->file);
}

bool frame_passes_data(const struct shown_frame *f)
{
    return known_row_of(f, KNOWN_DATA);
}

static enum frame_role python_role(const struct shown_frame *f)
{
    if (f->glue)
        return ROLE_GLUE;
    bool library = f->file && (python_installed_path(f->file) || python_is_frozen_library(f->file));
    return library ? ROLE_LIBRARY : ROLE_OWN;
}

/* ---- native ---- */

const struct known_row *frame_allocator(const struct shown_frame *f)
{
    bool musl = f->libc && str_starts(f->module ? f->module : "", "ld-");
    return musl ? NULL : known_row_of(f, KNOWN_ALLOCATOR);
}

bool frame_is_malloc(const struct shown_frame *f)
{
    return f->libc && frame_allocator(f);
}

bool module_is_libc(const char *module)
{
    static const char *const modules[] = {"libc.so", "libc-", "libpthread", "libm.so", "libm-",
                                          "[vdso]",  "ld-",   "ld.so",      "libmvec", NULL};
    return str_starts_any(module, modules);
}

/* A function that a std::thread was made of is none, wherever its frame lies. */
static bool is_native_glue(const struct shown_frame *f)
{
    size_t len;
    if (f->libc)
        return !frame_is_malloc(f);
    if (f->interpreter || f->entry)
        return true;
    bool known = known_row_of(f, KNOWN_GLUE) || known_row_of(f, KNOWN_WAITS);
    return known && !f->pool_loop && !frame_thread_function(f, &len);
}

bool is_glue_frame(const struct shown_frame *f)
{
    enum known_kind owner = known_owner_of(f);
    if (owner == KNOWN_OWN || owner == KNOWN_LIBRARY)
        return false;
    switch (f->kind) {
    case SHOWN_MARK:
    case SHOWN_WAIT:
        return true;
    case SHOWN_PYTHON:
        return known_row_of(f, KNOWN_GLUE);
    case SHOWN_NATIVE:
        break;
    }
    return is_native_glue(f);
}

/* Statically linked, or inlined from a header. */
static bool is_library_source(const char *file)
{
    static const char *const parts[] = {"/rustc/",   "/.cargo/registry/",  "/usr/include/",
                                        "/usr/lib/", "/usr/local/go/src/", "/usr/share/go",
                                        NULL};
    return file && str_has_any(file, parts);
}

/* Of /opt, where many put their own programs, only the folders of vendors; /usr/src is Docker's
 * customary place for one's own. */
static bool is_library_file(const struct shown_frame *f)
{
    static const char *const own[] = {"/usr/src/", NULL};
    static const char *const folders[] = {
        "/usr/",       "/lib/",        "/lib64/",   "/nix/",          "/opt/conda",
        "/opt/intel/", "/opt/nvidia/", "/opt/rocm", "/opt/homebrew/", "/opt/amazon/",
        "/opt/hpcx",   "/opt/cray/",   NULL};
    /* "_MEI" and "_internal" are the folders of PyInstaller's programs. */
    static const char *const parts[] = {"/.cache/",    "/jvm/",        "conda",       "/_MEI",
                                        "/_internal/", "/micromamba/", "/mambaforge", "/.pixi/",
                                        "/spack/",     "/easybuild/",  NULL};
    const char *path = f->module_path;
    if (!strstr(f->module, ".so"))
        return false; /* the program */
    if (!path)
        return str_starts(f->module, "lib");
    if (str_has_any(path, parts) || python_installed_path(path))
        return true;
    return str_starts_any(path, folders) && !str_starts_any(path, own);
}

static enum frame_role native_role(const struct shown_frame *f, bool blocked)
{
    if (f->nameless || f->entry)
        return ROLE_GLUE;
    if (f->interpreter && known_does(f, DOES_END_PYTHON))
        return ROLE_LIBRARY; /* the program's code has ended, and nothing else says so */
    if (f->libc)
        return blocked && f->glue ? ROLE_GLUE : ROLE_LIBC;
    if (f->glue) /* what was inlined is the caller's: a vector's index, a string's end */
        return !blocked && !f->inlined && known_owner_of(f) == KNOWN_WAITS ? ROLE_LIBRARY
                                                                           : ROLE_GLUE;
    if (!f->module)
        return ROLE_OWN; /* compiled while it ran */
    if (f->loop)         /* linked into the program, as libuv into node */
        return ROLE_LIBRARY;
    return is_library_file(f) || is_library_source(f->file) ? ROLE_LIBRARY : ROLE_OWN;
}

enum frame_role frame_role(const struct shown_frame *f, bool blocked)
{
    if (f->guessed)
        return ROLE_GLUE;
    enum known_kind owner = known_owner_of(f);
    if (owner == KNOWN_OWN || owner == KNOWN_LIBRARY)
        return owner == KNOWN_OWN ? ROLE_OWN : ROLE_LIBRARY;
    switch (f->kind) {
    case SHOWN_PYTHON:
        return python_role(f);
    case SHOWN_NATIVE:
        return native_role(f, blocked);
    case SHOWN_MARK:
        return str_eq(f->name, "[gc]") ? ROLE_LIBRARY : ROLE_GLUE;
    case SHOWN_WAIT:
        break;
    }
    return ROLE_GLUE;
}
