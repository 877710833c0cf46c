#include "fleet/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"
#include "fleet/readers.h"

enum { MOST_LEVELS = 8, MOST_INPUTS = 1 << 20 };

/* The directories and files that were read, so that links to them are not read again. */
struct reading {
    struct fleet *f;
    struct map seen; /* device and inode */
};

static struct fleet_input *add_input(struct fleet *f, const char *name)
{
    f->full |= f->n_inputs == MOST_INPUTS;
    f->inputs = array_reserve(f->inputs, &f->inputs_capacity, f->n_inputs + 1, sizeof *f->inputs);
    struct fleet_input *in = &f->inputs[f->n_inputs++];
    *in = (struct fleet_input){.name = xstrdup(name)};
    return in;
}

static void note_wrong(struct fleet_input *in, const char *wrong)
{
    if (!wrong || in->wrong)
        return;
    in->wrong = wrong;
    in->wrong_at = in->documents;
}

static void skip_spaces(struct byte_source *s)
{
    while (byte_source_more(s) && strchr(" \t\r\n", *s->at) && *s->at)
        s->at++;
}

/* After a document that is wrong: goes to the next line that begins like a dump.  LINE_BEGINS: one
 * begins here. */
static void find_next(struct byte_source *s, bool line_begins)
{
    enum { LONGEST_BEGINNING = 16 };
    while (byte_source_more(s)) {
        if (!line_begins) {
            const char *end = memchr(s->at, '\n', (size_t)(s->end - s->at));
            line_begins = end != NULL;
            s->at = end ? end + 1 : s->end;
            continue;
        }
        size_t there = byte_source_ahead(s, LONGEST_BEGINNING);
        char line[LONGEST_BEGINNING + 1] = "";
        memcpy(line, s->at, there < LONGEST_BEGINNING ? there : LONGEST_BEGINNING);
        if (str_starts(line, "{\"schema\"") || str_starts(line, "{ \"schema\"") ||
            str_starts(line, "[\n") || str_starts(line, "[{\"pid\"") ||
            str_starts(line, "Process "))
            return;
        line_begins = false;
    }
}

static void read_document(struct fleet *f, struct byte_source *s, struct json_in *j)
{
    uint32_t input = (uint32_t)(f->n_inputs - 1);
    bool foreign = false;
    uint32_t n = 0;
    bool json = *s->at == '{' || *s->at == '[';
    j->wrong = j->line = NULL;
    j->depth = 0;
    if (json) {
        enum json_in_kind kind = json_in_value(j, NULL);
        n = kind == JSON_IN_OBJECT ? dump_in_read(f, j, input, &foreign)
                                   : pyspy_in_json(f, j, input);
    } else {
        n = pyspy_in_text(f, s, input, &j->wrong);
    }
    struct fleet_input *in = &f->inputs[input];
    in->documents++;
    in->processes += n;
    note_wrong(in, j->wrong);
    note_wrong(in, foreign ? "it has JSON that is no dump" : NULL);
    note_wrong(in, !n ? "it has a dump without a process" : NULL);
    if (j->wrong && json)
        find_next(s, j->line && j->line == s->at);
}

static void read_source(struct fleet *f, struct byte_source *s)
{
    struct json_in *j = xcalloc(1, sizeof *j);
    j->source = s;
    for (skip_spaces(s); !f->full && byte_source_more(s); skip_spaces(s))
        read_document(f, s, j);
    free(j);
    struct fleet_input *in = &f->inputs[f->n_inputs - 1];
    if (s->wrong) {
        in->wrong = NULL; /* what this led to */
        note_wrong(in, s->wrong);
    }
    note_wrong(in, !in->documents ? "it is empty" : NULL);
    if (f->full)
        note_wrong(in, "it is one too many: not all of it is counted");
}

static void read_file(struct fleet *f, const char *path)
{
    struct byte_source s;
    bool standard = str_eq(path, "-");
    struct fleet_input *in = add_input(f, standard ? "standard input" : path);
    int r = byte_source_open(&s, standard ? NULL : path);
    if (r < 0) {
        note_wrong(in, strerror(-r));
        return;
    }
    read_source(f, &s);
    byte_source_close(&s);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Was what ST is of read before? */
static bool was_read(struct reading *r, const struct stat *st)
{
    uint64_t unused;
    uint64_t key = hash_u64(hash_u64(st->st_dev) ^ st->st_ino);
    if (map_get(&r->seen, key, &unused))
        return true;
    map_put(&r->seen, key, 1);
    return false;
}

static void read_path(struct reading *r, const char *path, unsigned levels);

/* LEVELS: of directories that may still be below. */
static void read_directory(struct reading *r, const char *path, unsigned levels)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_visible, alphasort);
    if (n < 0)
        note_wrong(add_input(r->f, path), strerror(errno));
    for (int i = 0; i < n; i++) {
        char *file = xasprintf("%s/%s", path, entries[i]->d_name);
        if (!r->f->full)
            read_path(r, file, levels);
        free(file);
        free(entries[i]);
    }
    free(entries);
    if (n == 0)
        note_wrong(add_input(r->f, path), "there is no file in it");
}

/* Why PATH, which is there and was found in a directory if LEVELS is not MOST_LEVELS, is not read;
 * NULL: it is.  A pipe is read if it is named. */
static const char *refusal(struct reading *r, const struct stat *st, unsigned levels)
{
    bool directory = S_ISDIR(st->st_mode);
    bool regular = S_ISREG(st->st_mode);
    if (!directory && !regular && levels < MOST_LEVELS)
        return "it is no regular file";
    if (directory && !levels)
        return "it is too deep below";
    return (directory || regular) && was_read(r, st) ? "it was read before" : NULL;
}

static void read_path(struct reading *r, const char *path, unsigned levels)
{
    struct stat st;
    bool known = stat(path, &st) == 0;
    const char *why = known ? refusal(r, &st, levels) : NULL;
    if (why)
        note_wrong(add_input(r->f, path), why);
    else if (known && S_ISDIR(st.st_mode))
        read_directory(r, path, levels - 1);
    else
        read_file(r->f, path);
}

void inputs_read(struct fleet *f, const char *const *paths, size_t n)
{
    struct reading r = {.f = f};
    for (size_t i = 0; i < n && !f->full; i++) {
        if (str_eq(paths[i], "-"))
            read_file(f, paths[i]);
        else
            read_path(&r, paths[i], MOST_LEVELS);
    }
    map_release(&r.seen);
}

void inputs_read_bytes(struct fleet *f, const char *name, const char *s, size_t len)
{
    struct byte_source source;
    byte_source_of_bytes(&source, s, len);
    (void)add_input(f, name);
    read_source(f, &source);
}
