#include "exporter/exporter.h"

#include <string.h>

#include "exporter/formats.h"

static const struct exporter exporters[] = {
    {.name = "speedscope",
     .suffixes = {".json"},
     .advice = "Open it at https://www.speedscope.app (it stays on your machine)",
     .max_bytes = 100000000, /* above 2^27 the page parses JSON itself, 50 times slower */
     .write = speedscope_write},
    {.name = "folded",
     .alias = "raw", /* py-spy's name for it */
     .suffixes = {".folded", ".txt"},
     .write = folded_write},
    {.name = "firefox",
     .suffixes = {".firefox.json"},
     .advice = "Open it at https://profiler.firefox.com (it stays on your machine)",
     .write = firefox_write},
    {.name = "pprof",
     .suffixes = {".pb"},
     .advice = "Look at it with: go tool pprof -http : FILE",
     .write = pprof_write},
    {.name = "flamegraph",
     .alias = "svg",
     .suffixes = {".svg"},
     .advice = "Open it in a browser",
     .max_bytes = 5000000, /* 20,000 frames: Chromium zooms them in half a second */
     .uncompressed = true,
     .write = flamegraph_write},
    {.name = "wallspy",
     .suffixes = {".wallspy"},
     .advice = "Ask it anything: wallspy report FILE, sqlite3 FILE 'select * from top_waits'",
     .uncompressed = true,
     .grows = true,
     .write = recording_write_format},
};
enum { EXPORTER_COUNT = sizeof exporters / sizeof *exporters };

const struct exporter *exporter_at(size_t i)
{
    return i < EXPORTER_COUNT ? &exporters[i] : NULL;
}

const struct exporter *exporter_default(void)
{
    return &exporters[0];
}

const struct exporter *exporter_by_name(const char *name)
{
    for (int i = 0; i < EXPORTER_COUNT; i++)
        if (str_eq(exporters[i].name, name) ||
            (exporters[i].alias && str_eq(exporters[i].alias, name)))
            return &exporters[i];
    return NULL;
}

static bool ends_before(const char *s, size_t len, const char *suffix)
{
    size_t n = strlen(suffix);
    return len >= n && memcmp(s + len - n, suffix, n) == 0;
}

/* The length of PATH's suffix of E's; 0: it has none. */
static size_t suffix_len(const struct exporter *e, const char *path)
{
    bool compressed = !e->uncompressed && str_ends(path, ".gz");
    size_t len = strlen(path) - (compressed ? strlen(".gz") : 0);
    for (int i = 0; i < EXPORTER_MAX_SUFFIXES && e->suffixes[i]; i++)
        if (ends_before(path, len, e->suffixes[i]))
            return strlen(e->suffixes[i]);
    return 0;
}

bool exporter_has_suffix(const struct exporter *e, const char *path)
{
    return suffix_len(e, path) > 0;
}

/* ".firefox.json" is none of ".json". */
const struct exporter *exporter_by_path(const char *path)
{
    const struct exporter *ret = NULL;
    size_t longest = 0;
    for (int i = 0; i < EXPORTER_COUNT; i++)
        if (suffix_len(&exporters[i], path) > longest) {
            ret = &exporters[i];
            longest = suffix_len(ret, path);
        }
    return ret;
}

void exporter_add_names(struct text *out)
{
    for (int i = 0; i < EXPORTER_COUNT; i++) {
        text_add(out, i == 0 ? "" : i + 1 < EXPORTER_COUNT ? ", " : " or ");
        text_add(out, exporters[i].name);
        if (exporters[i].alias)
            text_addf(out, " (%s)", exporters[i].alias);
    }
}

void exporter_add_suffixes(struct text *out)
{
    for (int i = 0; i < EXPORTER_COUNT; i++) {
        const char *const *suffixes = exporters[i].suffixes;
        for (int k = 0; k < EXPORTER_MAX_SUFFIXES && suffixes[k]; k++)
            text_addf(out, "%s%s", k ? " or " : i ? ", " : "", suffixes[k]);
        text_addf(out, " (%s)", exporters[i].name);
    }
}

int exporter_write(const struct exporter *e, const struct profile *p,
                   const struct view_options *options, const struct export_findings *findings,
                   uint64_t max_bytes, FILE *out, struct export_notes *ret_notes)
{
    bool is_less = max_bytes && (!e->max_bytes || max_bytes < e->max_bytes);
    struct view *v = view_new(p, options);
    *ret_notes = (struct export_notes){0};
    int r = e->write(p, v, findings, is_less ? max_bytes : e->max_bytes, out, ret_notes);
    view_free(v);
    return r;
}
