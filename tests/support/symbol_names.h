/* Opens the programs that symbols/build.sh made, for the tests of symbolizer/. */
#pragma once

#include "symbolizer/module_names.h"

struct names {
    struct profile *profile;
    struct debug_search *search;
    struct elf_file *file;
    struct module_names *names;
};

/* The path of a variant; the caller frees it. */
char *variant_path(const char *name);
/* False: not an ELF file, or not built here. */
bool names_open_path(struct names *n, const char *path);
bool names_open(struct names *n, const char *variant);
void names_close(struct names *n);
