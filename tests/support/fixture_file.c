#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "tests/support/fixture.h"

int fixture_pack(const char *text, size_t len, const char *path, struct err *err)
{
    gzFile file = gzopen(path, "wb9");
    bool written = file && gzwrite(file, text, (unsigned)len) == (int)len;
    bool closed = file && gzclose(file) == Z_OK;
    return written && closed ? 0 : err_set(err, -EIO, "cannot write %s", path);
}

int fixture_unpack(const char *path, struct text *ret, struct err *err)
{
    char buffer[1 << 14];
    int n = -1;
    gzFile file = gzopen(path, "rb");
    text_add(ret, "");
    while (file && (n = gzread(file, buffer, sizeof buffer)) > 0)
        text_add_bytes(ret, buffer, (size_t)n);
    if (file)
        (void)gzclose_r(file);
    return n == 0 ? 0 : err_set(err, -EIO, "cannot read %s", path);
}

struct profile *fixture_read(const char *path, struct err *err)
{
    struct text text = {0};
    struct profile *p = NULL;
    if (fixture_unpack(path, &text, err) == 0)
        p = fixture_parse(text.s, path_base(path), err);
    text_release(&text);
    return p;
}
