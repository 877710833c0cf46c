#include "symbolizer/naming_record.h"

#include <errno.h>
#include <string.h>

enum { MAX_RECORD_BYTES = 1 << 24 }; /* 65 locations of two names that fill a page are 0.5 MB */

struct head {
    uint32_t kind, parts;
    uint64_t index, bytes; /* behind the head */
};

struct part {
    uint32_t line, function_line, inlined, function_bytes, file_bytes; /* with their NULs */
};

static void write_head(FILE *out, enum naming_record_kind kind, uint64_t index, size_t parts,
                       uint64_t bytes)
{
    const struct head head = {kind, (uint32_t)parts, index, bytes};
    (void)fwrite(&head, sizeof head, 1, out);
}

static void write_part(FILE *out, const struct location *l, const char *function, const char *file)
{
    const struct part part = {l->line, l->function_line, l->inlined, (uint32_t)strlen(function) + 1,
                              (uint32_t)strlen(file) + 1};
    (void)fwrite(&part, sizeof part, 1, out);
    (void)fwrite(function, 1, part.function_bytes, out);
    (void)fwrite(file, 1, part.file_bytes, out);
}

static uint64_t part_bytes(const char *function, const char *file)
{
    return sizeof(struct part) + strlen(function) + 1 + strlen(file) + 1;
}

void naming_record_write(FILE *out, enum naming_record_kind kind, uint64_t index,
                         const struct location *locations, size_t n, const struct profile *texts)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += part_bytes(profile_text(texts, locations[i].function),
                            profile_text(texts, locations[i].file));
    write_head(out, kind, index, n, bytes);
    for (size_t i = 0; i < n; i++)
        write_part(out, &locations[i], profile_text(texts, locations[i].function),
                   profile_text(texts, locations[i].file));
}

void naming_record_write_text(FILE *out, uint64_t index, const char *text)
{
    write_head(out, RECORD_NO_SERVER, index, 1, part_bytes(text, ""));
    write_part(out, &(struct location){0}, text, "");
}

ssize_t naming_record_read(const char *bytes, size_t len, struct naming_record *ret)
{
    struct head head;
    if (len < sizeof head)
        return 0;
    memcpy(&head, bytes, sizeof head);
    if (head.kind >= RECORD_KINDS || head.bytes > MAX_RECORD_BYTES)
        return -EPROTO;
    if (len - sizeof head < head.bytes)
        return 0;
    const char *at = bytes + sizeof head;
    *ret = (struct naming_record){(enum naming_record_kind)head.kind, head.index, head.parts, at,
                                  at + head.bytes};
    return (ssize_t)(sizeof head + head.bytes);
}

/* NULL: it does not end where it should. */
static const char *take_text(struct naming_record *r, uint32_t bytes)
{
    const char *text = r->at;
    if (bytes == 0 || bytes > (size_t)(r->end - r->at) || text[bytes - 1])
        return NULL;
    r->at += bytes;
    return text;
}

bool naming_record_part(struct naming_record *r, struct location *ret, const char **ret_function,
                        const char **ret_file)
{
    struct part part;
    if (!r->parts || (size_t)(r->end - r->at) < sizeof part)
        return false;
    memcpy(&part, r->at, sizeof part);
    r->at += sizeof part;
    r->parts--;
    *ret = (struct location){
        .line = part.line, .function_line = part.function_line, .inlined = part.inlined != 0};
    *ret_function = take_text(r, part.function_bytes);
    *ret_file = *ret_function ? take_text(r, part.file_bytes) : NULL;
    return *ret_file != NULL;
}
