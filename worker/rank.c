#include "worker/rank.h"

#include <string.h>

#include "base/text.h"
#include "target/environ.h"
#include "worker/recording_metadata.h"
#include "worker/target_process.h"

enum { MOST = 16 };

struct found {
    char strings[MOST][ENVIRON_STRING_BYTES];
    size_t n;
};

static size_t name_bytes(const char *string)
{
    return strcspn(string, "=") + 1;
}

static void consider(void *ctx, const char *string)
{
    struct found *f = ctx;
    const char *value = strchr(string, '=');
    if (value && f->n < MOST && metadata_is_rank(string) && value[1] &&
        strspn(value + 1, "0123456789") == strlen(value + 1))
        memcpy(f->strings[f->n++], string, strlen(string) + 1);
}

static bool is_set_anew(const struct found *f, const char *string)
{
    for (size_t i = 0; i < f->n; i++)
        if (strncmp(f->strings[i], string, name_bytes(f->strings[i])) == 0)
            return true;
    return false;
}

/* The words of BEFORE, read at the process's start, with those of F in their place. */
static string_id merge(struct profile *p, string_id before, const struct found *f)
{
    struct text all = {0};
    for (const char *s = profile_text(p, before); *s;) {
        size_t len = strcspn(s, " ");
        if (!is_set_anew(f, s))
            text_addf(&all, "%s%.*s", all.len ? " " : "", (int)len, s);
        s += len + (s[len] == ' ');
    }
    for (size_t i = 0; i < f->n; i++)
        text_addf(&all, "%s%s", all.len ? " " : "", f->strings[i]);
    string_id ret = profile_string(p, all.s);
    text_release(&all);
    return ret;
}

void rank_look(struct target_process *s)
{
    struct rank_watch *w = &s->rank;
    struct found found = {.n = 0};
    uint32_t generation = modules_generation(s->modules);
    if (!generation)
        return;
    if (w->maps_generation != generation) {
        w->maps_generation = generation;
        w->address = environ_address(s->modules);
    }
    if (!w->address || !environ_read(s->live, w->address, &w->seen, consider, &found) || !found.n)
        return;
    struct profile_process *process = profile_get_process(s->profile, s->id);
    process->environment = merge(s->profile, process->environment, &found);
}
