#include "cli/shown_words.h"

#include <string.h>

#include "base/text.h"
#include "summary/wait_text.h"

/* ---- frames ---- */

bool shown_words_wait(const struct shown_words *w)
{
    return str_eq(w->file, wait_file);
}

/* "MODULE+0x1f", of none "0x7f001f": where it is; false: the code has a name. */
static bool is_nameless(const char *name, const char *module, uint64_t *ret)
{
    size_t len = strlen(module);
    const char *sign = *module ? "+0x" : "0x";
    const char *end = name + strlen(name);
    return strncmp(name, module, len) == 0 && str_starts(name + len, sign) &&
           parse_u64(name + len + strlen(sign), end, 16, ret) == end;
}

/* FILE: "[libc.so.6] malloc/malloc.c", "[libc.so.6]" */
static frame_id native_frame(struct profile *p, const struct shown_words *w, const char *file,
                             uint32_t flags, uint64_t number)
{
    const size_t len = strcspn(file + 1, "]");
    const char *path = file[len + 1] && file[len + 2] == ' ' ? file + len + 3 : "";
    const string_id module = profile_string_n(p, file + 1, len);
    const struct profile_module m = {.name = module};
    struct frame f = {.kind = FRAME_NATIVE, .flags = flags};
    uint64_t offset = 0;
    bool named = !is_nameless(profile_text(p, w->name), profile_text(p, module), &offset);
    /* Places of named code are not in the file: each frame has one of its own. */
    f.native.module = profile_module(p, &m);
    f.native.offset = named ? (UINT64_C(1) << 40) + number : offset;
    frame_id id = profile_frame(p, &f);
    const struct location at = {.function = w->name,
                                .file = *path ? profile_string(p, path) : (string_id){0},
                                .line = w->line,
                                .function_line = w->line};
    if (named)
        profile_locate(p, id, &at, 1);
    return id;
}

static frame_id python_frame(struct profile *p, const struct shown_words *w)
{
    const struct func func = {
        .name = w->name, .file = profile_string(p, w->file), .first_line = w->line};
    const struct frame f = {.kind = FRAME_PYTHON,
                            .python = {.func = profile_func(p, &func), .line = w->line}};
    return profile_frame(p, &f);
}

frame_id shown_words_frame(struct profile *p, const struct shown_words *w, uint64_t number)
{
    static const char guessed[] = "[guessed] ";
    const char *file = w->file;
    uint32_t flags = 0;
    if (str_starts(file, guessed)) {
        file += strlen(guessed);
        flags = FRAME_IS_GUESSED;
    }
    if (*file == '[')
        return native_frame(p, w, file, flags, number);
    if (*file)
        return python_frame(p, w);
    struct frame in_no_file = {.kind = FRAME_NATIVE, .flags = flags};
    if (is_nameless(profile_text(p, w->name), "", &in_no_file.native.offset))
        return profile_frame(p, &in_no_file);
    return profile_mark(p, profile_text(p, w->name), NULL);
}

/* ---- waits ---- */

/* "read /mnt/data [blocked]", and PATH below that mount; none: that is in WORDS. */
static struct wait call_wait(struct profile *p, const char *words, const char *path)
{
    static const char blocked[] = " [blocked]";
    struct wait wait = {.kind = WAIT_CALL};
    size_t call = strcspn(words, " ");
    size_t len = strlen(words) - strlen(blocked);
    wait.call = profile_string_n(p, words, call);
    if (path) {
        struct profile_mount mount = {
            .point = profile_string_n(p, words + call + 1, len > call ? len - call - 1 : 0)};
        wait.mount = profile_mount(p, &mount);
        wait.object = profile_string(p, path);
    } else if (len > call) {
        wait.object = profile_string_n(p, words + call + 1, len - call - 1);
    }
    return wait;
}

/* The kind of wait that has no more words than WORDS; WAIT_NONE: none has these. */
static enum wait_kind plain_wait(const struct profile *p, const char *words)
{
    static const enum wait_kind kinds[] = {WAIT_CPU,           WAIT_GIL,       WAIT_PAGE,
                                           WAIT_STOPPED,       WAIT_IO_WORKER, WAIT_FROZEN,
                                           WAIT_NOT_PERMITTED, WAIT_UNKNOWN};
    enum wait_kind ret = WAIT_NONE;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !ret; i++) {
        struct text text = {0};
        wait_add_text(&text, p, &(struct wait){.kind = kinds[i]}, false);
        if (str_eq(text.s, words))
            ret = kinds[i];
        text_release(&text);
    }
    return ret;
}

/* Names of calls are printed as they are. */
static bool is_call(const char *words)
{
    size_t len = strspn(words, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return len && words[len] == ' ' && str_ends(words, " [blocked]");
}

struct wait shown_words_as_wait(struct profile *p, const char *words, const char *path)
{
    enum wait_kind kind = plain_wait(p, words);
    if (!kind && is_call(words))
        return call_wait(p, words, path);
    return (struct wait){.kind = kind ? kind : WAIT_UNKNOWN};
}
