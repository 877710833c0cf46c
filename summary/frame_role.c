#include "summary/frame_role.h"

#include <string.h>

#include "summary/frame_name.h"
#include "summary/known.h"
#include "summary/python_module.h"

/* ---- Python ---- */

bool frame_is(const struct shown_frame *f, const char *file_end, const char *name)
{
    return f->kind == SHOWN_PYTHON && f->file && python_file_ends(f->file, file_end) &&
           (!name || frame_name_has(f->name, name));
}

bool frame_is_importlib(const struct shown_frame *f)
{
    return f->kind == SHOWN_PYTHON && f->file && str_starts(f->file, "<frozen importlib");
}

bool frame_is_import(const struct shown_frame *f)
{
    return f->kind == SHOWN_PYTHON && f->file && str_eq(f->file, "<frozen importlib._bootstrap>");
}

bool frame_starts_thread(const struct shown_frame *f)
{
    if (f->kind == SHOWN_NATIVE)
        return f->libc && str_starts(frame_libc_name(f->name), "pthread_create");
    return frame_is(f, "/threading.py", "start");
}

bool frame_joins_thread(const struct shown_frame *f)
{
    if (f->kind == SHOWN_NATIVE)
        return frame_name_has(f->name, "std::thread::join") ||
               (f->libc && (str_starts(frame_libc_name(f->name), "pthread_join") ||
                            str_starts(frame_libc_name(f->name), "pthread_clockjoin") ||
                            str_starts(frame_libc_name(f->name), "pthread_timedjoin")));
    return frame_is(f, "/threading.py", "join"); /* Thread.join from 3.11 on */
}

bool frame_passes_data(const struct shown_frame *f)
{
    return known_row_of(f, KNOWN_DATA);
}

bool frame_is_sqlite(const struct shown_frame *f)
{
    return f->kind == SHOWN_NATIVE &&
           (str_starts(f->name, "sqlite3") || (f->module && str_starts(f->module, "libsqlite3")));
}

static enum frame_role python_role(const struct shown_frame *f)
{
    if (f->glue)
        return ROLE_GLUE;
    bool library = f->file && (python_installed_path(f->file) || python_is_frozen_library(f->file));
    return library ? ROLE_LIBRARY : ROLE_OWN;
}

/* ---- native ---- */

bool frame_is_entry(const struct shown_frame *f)
{
    static const char *const names[] = {"_start",
                                        "clone",
                                        "clone3",
                                        "start_thread",
                                        "__clone",
                                        "__clone3",
                                        "thread_start",
                                        "__libc_start_main",
                                        "__libc_start_call_main",
                                        "__restore_rt",
                                        "call_init",
                                        NULL};
    return f->kind == SHOWN_NATIVE &&
           (str_is_one_of(f->name, names) || str_starts(f->name, "__libc_start_main"));
}

bool frame_is_malloc(const struct shown_frame *f)
{
    static const char *const names[] = {"malloc",        "free",
                                        "calloc",        "realloc",
                                        "__libc_malloc", "__libc_free",
                                        "__libc_calloc", "__libc_realloc",
                                        "memalign",      "posix_memalign",
                                        "aligned_alloc", "malloc_consolidate",
                                        "cfree",         NULL};
    static const char *const inner[] = {"_int_",     "__GI___libc_", "tcache_",   "arena_get",
                                        "sysmalloc", "systrim",      "heap_trim", NULL};
    return f->kind == SHOWN_NATIVE && f->module &&
           (str_starts(f->module, "libc.so") || str_starts(f->module, "libc-")) &&
           (str_is_one_of(f->name, names) || str_starts_any(f->name, inner));
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
    if (f->interpreter || f->entry || known_row_of(f, KNOWN_WAITS))
        return true;
    return known_row_of(f, KNOWN_GLUE) && !f->pool_loop && !frame_thread_function(f, &len);
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

/* Compiled while it ran, and named by its compiler: node's and Java's own libraries are, too. */
static enum frame_role jit_role(const char *name)
{
    static const char *const parts[] = {"java.", "java/",  "jdk.",           "jdk/", "sun.",
                                        "sun/",  " node:", "/node_modules/", NULL};
    return str_has_any(name, parts) ? ROLE_LIBRARY : ROLE_OWN;
}

static enum frame_role native_role(const struct shown_frame *f, bool blocked)
{
    if (f->nameless || f->entry)
        return ROLE_GLUE;
    if (f->interpreter && str_starts(f->name + strspn(f->name, "_"), "Py_Finalize"))
        return ROLE_LIBRARY; /* the program's code has ended, and nothing else says so */
    if (f->libc)
        return blocked && f->glue ? ROLE_GLUE : ROLE_LIBC;
    if (!blocked && known_row_of(f, KNOWN_WAITS))
        return ROLE_LIBRARY;
    if (f->glue)
        return ROLE_GLUE;
    if (!f->module)
        return jit_role(f->name);
    if (f->loop) /* linked into the program, as libuv into node */
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
