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
