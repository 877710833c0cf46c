#include "symbolizer/mini_debug.h"

#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/elf_strings.h"

static Elf_Data *find_section(Elf *elf)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(scn, &header) ? elf_string(elf, names, header.sh_name) : NULL;
        if (name && header.sh_type == SHT_PROGBITS && str_eq(name, ".gnu_debugdata"))
            return elf_rawdata(scn, NULL);
    }
    return NULL;
}

/* Runs the decoder to its end.  The output grows by doubling. */
static int run(lzma_stream *stream, uint8_t **bytes, size_t *ret_len)
{
    size_t capacity = 0;
    for (;;) {
        size_t len = stream->total_out;
        if (stream->avail_out == 0) {
            if (len >= MAX_MINI_DEBUG_BYTES)
                return -EPROTO;
            *bytes = array_reserve(*bytes, &capacity, len ? len * 2 : 1 << 16, 1);
            stream->next_out = *bytes + len;
            stream->avail_out = capacity - len;
        }
        lzma_ret r = lzma_code(stream, LZMA_FINISH);
        *ret_len = stream->total_out;
        if (r == LZMA_STREAM_END)
            return 0;
        if (r != LZMA_OK)
            return -EPROTO;
    }
}

static int decompress(const Elf_Data *in, uint8_t **ret, size_t *ret_len)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, MAX_MINI_DEBUG_BYTES, 0) != LZMA_OK)
        return -EPROTO;
    stream.next_in = in->d_buf;
    stream.avail_in = in->d_size;
    uint8_t *bytes = NULL;
    int r = run(&stream, &bytes, ret_len);
    lzma_end(&stream);
    if (r < 0)
        free(bytes);
    else
        *ret = bytes;
    return r;
}

int mini_debug_open(struct mini_debug *ret, Elf *elf)
{
    const Elf_Data *data = find_section(elf);
    if (!data || !data->d_buf || !data->d_size)
        return -ENOENT;
    struct mini_debug m = {0};
    size_t len = 0;
    int r = decompress(data, &m.bytes, &len);
    if (r < 0)
        return r;
    m.elf = elf_memory((char *)m.bytes, len);
    if (!m.elf || elf_kind(m.elf) != ELF_K_ELF) {
        mini_debug_release(&m);
        return -EPROTO;
    }
    *ret = m;
    return 0;
}

void mini_debug_release(struct mini_debug *m)
{
    if (m->elf)
        (void)elf_end(m->elf);
    free(m->bytes);
    *m = (struct mini_debug){0};
}
