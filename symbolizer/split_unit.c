#include "symbolizer/split_unit.h"

#include <dwarf.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { MAX_NAME_BYTES = 4096 };

/* Puts the folder of what is open at FD into RET, "" if it is unknown. */
static void folder_of(int fd, char ret[PATH_MAX])
{
    struct text link = {0};
    text_addf(&link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link.s, ret, PATH_MAX - 1);
    text_release(&link);
    ret[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(ret, '/');
    if (slash)
        *slash = '\0';
}

static const char *string_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    const char *s = dwarf_attr(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
    return s && strnlen(s, MAX_NAME_BYTES) < MAX_NAME_BYTES ? s : NULL;
}

static bool is_harmless(const char *folder, const char *dir, const char *file)
{
    struct text path = {0};
    struct stat st;
    if (*file != '/' && *dir != '/')
        text_addf(&path, "%s/", folder);
    if (*file != '/' && *dir)
        text_addf(&path, "%s/", dir);
    text_add(&path, file);
    bool regular = stat(path.s, &st) != 0 || S_ISREG(st.st_mode);
    text_release(&path);
    return regular;
}

/* libdw opens whatever is at the two places that UNIT names: beside the file, and in the folder
 * where it was compiled.  A FIFO there would make it wait for ever, and opening a device has
 * effects. */
static bool may_open(Dwarf_Die *unit, int fd)
{
    char folder[PATH_MAX];
    const char *file = string_of(unit, DW_AT_dwo_name);
    const char *dir = string_of(unit, DW_AT_comp_dir);
    if (!file)
        file = string_of(unit, DW_AT_GNU_dwo_name);
    if (!file)
        return false;
    folder_of(fd, folder);
    return is_harmless(folder, "", file) && is_harmless(folder, dir ? dir : "", file);
}

Dwarf_Die split_unit_of(const Dwarf_Die *unit, int fd)
{
    Dwarf_Die die = *unit;
    Dwarf_Die split;
    uint8_t type;
    if (dwarf_cu_info(die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 ||
        type != DW_UT_skeleton || !may_open(&die, fd) ||
        dwarf_cu_info(die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) != 0 ||
        dwarf_tag(&split) != DW_TAG_compile_unit)
        return die;
    return split;
}
