#include "summary/python_module.h"

#include <string.h>

/* What comes behind the last PART of PATH; NULL: PART is not in it. */
static const char *behind(const char *path, const char *part)
{
    const char *found = NULL;
    for (const char *at = path; (at = strstr(at, part)); at += strlen(part))
        found = at + strlen(part);
    return found;
}

/* "json/decoder.py" of "/usr/lib/python3.11/json/decoder.py", also of lib64. */
static const char *in_standard_library(const char *path)
{
    static const char part[] = "/python";
    for (const char *at = path; (at = strstr(at, part)); at++) {
        const char *version = at + strlen(part);
        bool lib = (at >= path + 4 && strncmp(at - 4, "/lib", 4) == 0) ||
                   (at >= path + 6 && strncmp(at - 6, "/lib64", 6) == 0);
        const char *rest = strchr(version, '/');
        if (lib && *version >= '0' && *version <= '9')
            return rest ? rest + 1 : version + strlen(version);
    }
    return NULL;
}

const char *python_installed_path(const char *file)
{
    static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        const char *path = behind(file, packages[i]);
        if (path)
            return path;
    }
    return in_standard_library(file);
}

/* Source: sys.stdlib_module_names of CPython 3.8 to 3.14, without what no program runs, and names
 * that a script of the user's may well have. */
static const char standard_modules[] =
    " _collections_abc _compat_pickle _compression _markupbase _py_abc _pydecimal _pyio _pylong "
    "_sitebuiltins _strptime _threading_local _weakrefset abc argparse ast asynchat asyncio "
    "asyncore base64 bisect bz2 cProfile codecs codeop collections colorsys compileall "
    "concurrent configparser contextlib contextvars copy copyreg csv ctypes curses dataclasses "
    "datetime dbm decimal difflib email encodings enum filecmp fileinput fnmatch fractions "
    "ftplib functools genericpath getpass gettext glob graphlib gzip hashlib heapq hmac html "
    "http imaplib imp importlib inspect io ipaddress json linecache locale logging lzma mailbox "
    "mimetypes modulefinder multiprocessing ntpath optparse os pathlib pickle pkgutil platform "
    "plistlib poplib posixpath pprint pstats pty py_compile pydoc queue random re reprlib runpy "
    "sched secrets selectors shelve shlex shutil signal smtpd smtplib socket socketserver "
    "sqlite3 sre_compile sre_parse ssl statistics string struct subprocess tarfile tempfile "
    "textwrap threading tokenize tomllib traceback tracemalloc tty typing unittest urllib uuid "
    "warnings weakref wsgiref xml xmlrpc zipapp zipfile zipimport zoneinfo ";

/* "Py" and "_Py" begin the names of its API.  PyInit_x is the extension's. */
bool python_has_function(const char *function)
{
    const char *name = *function == '_' ? function + 1 : function;
    return str_starts(name, "Py") && (name[2] == '_' || (name[2] >= 'A' && name[2] <= 'Z')) &&
           !str_starts(name, "PyInit_");
}

bool python_is_frozen_library(const char *file)
{
    size_t len = strcspn(file, "/.");
    if (*file == '/' || *file == '<' || !len)
        return false;
    for (const char *at = standard_modules; (at = strchr(at, ' ')) && at[1];)
        if (strncmp(++at, file, len) == 0 && at[len] == ' ')
            return true;
    return false;
}

bool python_is_asyncio(const char *file)
{
    static const char folder[] = "asyncio/";
    const char *path = python_installed_path(file);
    return str_starts(path ? path : file, folder);
}

size_t python_package_length(const char *installed_path)
{
    return strcspn(installed_path, "/.");
}

void python_module_add(struct text *out, const char *installed_path)
{
    static const char *const ends[] = {"/__init__.py", ".py"};
    size_t len = strlen(installed_path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (str_ends(installed_path, ends[i])) {
            len -= strlen(ends[i]);
            break;
        }
    size_t start = out->len;
    text_add_tame(out, installed_path, len);
    for (char *at = out->s ? out->s + start : NULL; at && (at = strchr(at, '/'));)
        *at = '.';
}
