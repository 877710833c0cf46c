#include "cli/pyspy.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/exit_codes.h"
#include "cli/terminal.h"

/* The version whose output and options were compared. */
const char pyspy_version[] = "py-spy 0.4.3 (wallspy " WALLSPY_VERSION ")\n";

int pyspy_exit_code(const struct options *o, int code)
{
    if (!o->as_py_spy || o->argv || code == EXIT_OK || code == EXIT_USAGE)
        return code;
    if (code == EXIT_NOT_PERMITTED)
        terminal_error("Permission Denied: the message above has the cause and the way out");
    return EXIT_FAILED;
}

/* Do both paths lead to one file? */
static bool is_same(const char *a, const char *b)
{
    char x[PATH_MAX], y[PATH_MAX];
    return realpath(a, x) && realpath(b, y) && str_eq(x, y);
}

/* Warns if programs that look for py-spy in PATH find another one than LINK, or none. */
static void check_path(const char *link)
{
    const char *path = getenv("PATH");
    for (const char *s = path ? path : ""; *s; s += strspn(s, ":")) {
        size_t len = strcspn(s, ":");
        char *found = xasprintf("%.*s/py-spy", (int)len, s);
        bool is_there = access(found, X_OK) == 0;
        bool is_ours = is_there && is_same(found, link);
        if (is_there && !is_ours)
            terminal_warn("%s comes first in PATH: programs that look for py-spy find that", found);
        free(found);
        if (is_there)
            return;
        s += len;
    }
    terminal_warn("its folder is not in PATH: programs that look for py-spy do not find it");
}

/* Makes LINK lead to SELF, or finds that it does.  Returns 0 or a negative errno. */
static int make_link(const char *self, const char *link)
{
    if (symlink(self, link) == 0)
        return 0;
    int error = -errno;
    return error == -EEXIST && is_same(link, self) ? 0 : error;
}

int pyspy_install_main(const struct options *o)
{
    char self[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) {
        terminal_error("cannot read /proc/self/exe: %s", strerror(errno));
        return EXIT_FAILED;
    }
    char *link = xasprintf("%s/py-spy", o->argv[0]);
    int error = make_link(self, link);
    if (error < 0) {
        terminal_error("cannot make %s: %s. %s another folder.", link, strerror(-error),
                       error == -EEXIST ? "Remove what is there, or choose" : "Choose");
    } else {
        terminal_info("%s is a link to %s; rm undoes it", link, self);
        check_path(link);
    }
    free(link);
    return error < 0 ? EXIT_FAILED : EXIT_OK;
}
