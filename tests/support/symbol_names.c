#include "tests/support/symbol_names.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/support/files.h"

char *variant_path(const char *name)
{
    char dir[TEST_PATH_BYTES];
    beside_binary("symbols", dir);
    return xasprintf("%s/%s", dir, name);
}

bool names_open_path(struct names *n, const char *path)
{
    *n = (struct names){0};
    if (elf_file_open(&n->file, path, NULL) < 0)
        return false;
    n->profile = profile_new(0);
    n->search = debug_search_new(getpid());
    n->names = module_names_open(n->file, path, n->search, n->profile);
    return true;
}

bool names_open(struct names *n, const char *variant)
{
    char *path = variant_path(variant);
    bool ok = names_open_path(n, path);
    free(path);
    return ok;
}

void names_close(struct names *n)
{
    n->names = module_names_close(n->names);
    n->search = debug_search_free(n->search);
    n->profile = profile_free(n->profile);
    n->file = elf_file_free(n->file);
}
