#include "summary/path_words.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "summary/short_name.h"

enum { NAME_COLUMNS = 40 };

void add_percent(struct text *out, double share)
{
    double percent = round(100 * share);
    text_addf(out, "%.0f%%", percent >= 100 && share < 0.995 ? 99 : percent);
}

void add_name(struct text *out, const char *part)
{
    short_name_add(out, part, NAME_COLUMNS);
}

/* "[read 64 files: /mnt/data]": only the brackets go. */
static void add_wait(struct text *out, const char *wait)
{
    struct text name = {0};
    short_name_add(&name, wait, NAME_COLUMNS);
    bool bracketed = name.s[0] == '[' && name.s[name.len - 1] == ']';
    text_add_bytes(out, name.s + bracketed, name.len - (bracketed ? strlen("[]") : 0));
    text_release(&name);
}

static void add_place_called(struct text *out, const struct call_path *path, const char *called)
{
    const char *inner = path->inner ? path->inner : path->libc;
    text_add(out, "in ");
    if (inner)
        add_name(out, inner);
    else if (path->caller)
        add_name(out, path->caller);
    else
        add_wait(out, path->wait);
    if (inner && path->caller) {
        text_addf(out, ", %s from ", called);
        if (path->called_by)
            text_add(out, path->called_by);
        else
            add_name(out, path->caller);
    }
}

void add_place(struct text *out, const struct call_path *path)
{
    add_place_called(out, path, "called");
}

void add_heaviest_place(struct text *out, const struct call_path *path, int64_t ns)
{
    static const double most_share = 0.95; /* that is as good as all */
    text_add(out, (double)path->ns < most_share * (double)ns ? ", mainly " : ", ");
    add_place(out, path);
}

void add_place_longest(struct text *out, const struct call_path *path)
{
    add_place_called(out, path, "mainly called");
}

/* PATH without its FIRST parts. */
static void add_parts(struct text *out, const struct call_path *path, size_t first)
{
    const char *parts[CALL_PATH_MAX_PARTS];
    size_t n = call_path_parts(path, parts);
    for (size_t i = first; i < n; i++) {
        text_add(out, i > first ? " > " : "");
        if (parts[i] == path->wait)
            add_wait(out, parts[i]);
        else
            add_name(out, parts[i]);
    }
}

void add_way_below(struct call_tree *t, struct text *out, const struct call_path *path,
                   uint32_t own)
{
    const struct call_path_keys keys = call_path_keys(t, path->node);
    if (path->inner && keys.inner == own)
        add_parts(out, path, path->caller ? 2 : 1);
    else if (path->caller && keys.caller == own)
        add_parts(out, path, 1);
}

void add_way(struct text *out, const struct call_path *path)
{
    add_parts(out, path, path->callers > 0);
    if (path->callers)
        text_addf(out, " (called by %s)", path->called_by);
}

void add_time(struct text *out, int64_t ns)
{
    if (ns < INT64_C(10) * NS_PER_MS && ns > 0)
        text_addf(out, "%.2g ms", (double)ns / NS_PER_MS);
    else if (ns < NS_PER_S && ns > 0)
        text_addf(out, "%.0f ms", (double)ns / NS_PER_MS);
    else
        text_addf(out, "%.1f s", (double)ns / NS_PER_S);
}
