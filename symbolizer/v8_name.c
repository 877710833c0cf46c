#include "symbolizer/v8_name.h"

#include <string.h>

/* Behind "JS:*", which says what compiled it; NULL: there is nothing such. */
static const char *after_kind(const char *name)
{
    static const char *const kinds[] = {"JS:", "LazyCompile:", "Function:", "Script:"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!str_starts(name, kinds[i]))
            continue;
        name += strlen(kinds[i]);
        name += *name && strchr("~^+*", *name);
        return name + (*name == '\'');
    }
    return NULL;
}

/* Cuts ":15" off [S, END), and returns the new end; NULL: it ends otherwise. */
static const char *cut_number(const char *s, const char *end, uint64_t *ret)
{
    const char *colon = memrchr(s, ':', (size_t)(end - s));
    return colon && colon + 1 < end && parse_u64(colon + 1, end, 10, ret) == end ? colon : NULL;
}

/* Where the file begins behind the function, whose name may have spaces, as a path may. */
static const char *find_file(const char *s, const char *end)
{
    static const char *const begins[] = {" /", " file://"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        const char *at = memmem(s, (size_t)(end - s), begins[i], strlen(begins[i]));
        if (at)
            return at + 1;
    }
    return NULL;
}

bool v8_name_parse(const char *name, struct v8_name *ret)
{
    static const char url[] = "file://";
    uint64_t column;
    uint64_t line;
    *ret = (struct v8_name){.line = 0};
    const char *function = after_kind(name);
    const char *end = function ? cut_number(function, function + strlen(function), &column) : NULL;
    end = end ? cut_number(function, end, &line) : NULL;
    const char *file = end ? find_file(function, end) : NULL;
    if (!file || line > UINT32_MAX)
        return false;
    size_t len = (size_t)(file - function) - 1;
    text_add_bytes(&ret->function, function, len);
    text_add(&ret->function, len ? "" : "(anonymous)");
    file += str_starts(file, url) ? strlen(url) : 0;
    text_add_bytes(&ret->file, file, (size_t)(end - file));
    ret->line = (uint32_t)line;
    return true;
}

void v8_name_release(struct v8_name *name)
{
    text_release(&name->function);
    text_release(&name->file);
}
