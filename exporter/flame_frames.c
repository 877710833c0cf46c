/* The frames of a flame graph, as SVG: each a box with its name, its colour and its details. */
#include "exporter/flame_drawing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "base/share.h"
#include "exporter/xml.h"
#include "summary/short_name.h"

enum {
    NAME_COLUMNS = 300, /* of a name in a frame's details */
    SHADES = 4,
};
const double flame_char_width = 7.3;

/* ---- colours ---- */

static const struct flame_look_row looks[LOOK_COUNT] = {
    [LOOK_PYTHON] = {"py", "Python", true},
    [LOOK_NATIVE] = {"na", "native", true},
    [LOOK_GIL] = {"gil", "waiting for GIL", false},
    [LOOK_CPU] = {"cpu", "waiting for cpu", false},
    [LOOK_BLOCKED] = {"blocked", "blocked", false},
    [LOOK_PAGE_FAULT] = {"page-fault", "page fault", false},
    [LOOK_MARK] = {"mark", "[other]", false},
    [LOOK_THREAD] = {"thread", "no sample", false},
};

const struct flame_look_row *flame_look_row(enum flame_look look)
{
    return &looks[look];
}

static enum flame_look look_of_wait(enum wait_kind wait)
{
    if (wait == WAIT_GIL)
        return LOOK_GIL;
    if (wait == WAIT_CPU)
        return LOOK_CPU;
    return wait == WAIT_PAGE ? LOOK_PAGE_FAULT : LOOK_BLOCKED;
}

static enum flame_look look_of_shown(const struct shown_frame *f)
{
    switch (f->kind) {
    case SHOWN_PYTHON:
        return LOOK_PYTHON;
    case SHOWN_NATIVE:
        return LOOK_NATIVE;
    case SHOWN_WAIT:
        return look_of_wait(f->wait);
    case SHOWN_MARK:
        return LOOK_MARK;
    }
    return LOOK_MARK;
}

enum flame_look flame_look_of(const struct flame_drawing *d, const struct flame_node *node)
{
    if (node->depth < 2)
        return LOOK_THREAD;
    return node->frame <= view_frame_count(d->v) ? look_of_shown(view_frame(d->v, node->frame))
                                                 : LOOK_MARK;
}

/* ---- words and figures ---- */

void flame_add_seconds(struct text *out, int64_t ns)
{
    double s = (double)ns / NS_PER_S;
    if (s >= 1)
        text_addf(out, "%.*f s", s >= 100 ? 0 : s >= 10 ? 1 : 2, s);
    else
        text_addf(out, "%.*f ms", s >= 0.01 ? 0 : 2, s * 1e3);
}

void flame_add_percent(struct text *out, int64_t part, int64_t whole)
{
    text_addf(out, "%.1f %%", 100 * share_of(part, whole));
}

/* How many columns PX pixels hold of S, whose letters of East Asian scripts take two. */
static size_t columns_in(double px, const char *s)
{
    size_t columns = px > 2 * FLAME_PAD ? (size_t)((px - 2 * FLAME_PAD) / flame_char_width) : 0;
    for (; *s; s++)
        if ((unsigned char)*s > 0xe1) /* leads what is above U+2000 */
            return columns / 2;
    return columns;
}

/* ---- places ---- */

int64_t flame_total_ns(const struct flame_drawing *d)
{
    return d->tree.n ? d->tree.nodes[0].total_ns : 0;
}

/* ---- frames ---- */

/* A box's name and place; the file is NULL for none. */
struct caption {
    const char *name, *file, *source;
    uint32_t line;
    char merged[64];
};

/* "read.c:12"; without a path the module, "[libc.so.6]". */
static void add_short_place(struct text *out, const struct caption *c)
{
    text_add(out, c->source ? path_base(c->source) : c->file);
    if (c->line)
        text_addf(out, ":%" PRIu32, c->line);
}

static void caption_of(const struct flame_drawing *d, const struct flame_box *box,
                       struct caption *ret)
{
    const struct flame_node *node = &d->tree.nodes[box->node];
    *ret = (struct caption){.name = "all"};
    if (box->merged) {
        (void)snprintf(ret->merged, sizeof ret->merged, "[%" PRIu32 " %s under %g %%]", box->merged,
                       box->depth == 1 ? "threads" : "calls", 100.0 / (double)d->one_part);
        ret->name = ret->merged;
    } else if (box->node) {
        struct path_frame f = paths_see_frame(d->paths, node->frame);
        ret->name = f.name;
        ret->file = f.waits ? NULL : f.file;
        ret->source = f.waits ? NULL : f.source;
        ret->line = f.line;
    }
}

static void add_class(struct flame_drawing *d, const struct flame_box *box, const char *file)
{
    struct text *out = &d->frames;
    if (box->merged || !box->node) {
        text_add(out, box->merged ? "merged" : "all");
        return;
    }
    const struct flame_look_row *look = &looks[flame_look_of(d, &d->tree.nodes[box->node])];
    text_add(out, look->class);
    /* Of a native frame the module decides, of a Python frame the file. */
    size_t len = !file ? 0 : *file == '[' ? strcspn(file, "]") : strlen(file);
    if (look->shaded)
        text_addf(out, "%d", (int)(hash_bytes_unseeded(file ? file : "", len) % SHADES));
}

/* "1.20 s, 40.0 % of all, 50.0 % of its caller; 0.10 s in itself" */
static void add_figures(const struct flame_drawing *d, const struct flame_box *box,
                        struct text *out)
{
    const struct flame_node *node = &d->tree.nodes[box->node];
    uint32_t caller = box->merged ? box->node : node->parent;
    flame_add_seconds(out, box->ns);
    text_add(out, ", ");
    flame_add_percent(out, box->ns, flame_total_ns(d));
    text_add(out, " of all");
    if (box->depth > 1) {
        text_add(out, ", ");
        flame_add_percent(out, box->ns, d->tree.nodes[caller].total_ns);
        text_add(out, " of its caller");
    }
    if (box->merged || !box->node || !node->self_ns || node->self_ns == node->total_ns)
        return;
    text_add(out, "; ");
    flame_add_seconds(out, node->self_ns);
    text_add(out, box->depth == 1 ? " without a sample" : " in itself");
}

/* The text that the browser shows for a frame under the pointer; the script searches its first two
 * lines. */
static void add_details(struct flame_drawing *d, const struct flame_box *box,
                        const struct caption *c)
{
    struct text *out = &d->frames;
    text_add(out, "<title>");
    xml_add(out, c->name, NAME_COLUMNS);
    if (c->file) {
        text_add(out, "\n");
        xml_add(out, c->file, NAME_COLUMNS);
        if (c->line)
            text_addf(out, ":%" PRIu32, c->line);
    }
    text_add(out, "\n");
    add_figures(d, box, out);
    text_add(out, "</title>");
}

/* NAME as far as COLUMNS hold it: what tells least goes first, its end at last. */
static void add_fitting(struct text *out, const char *name, size_t columns)
{
    enum { LEAST_COLUMNS = 3, LEAST_FOR_SHORT_NAME = 8 };
    static const char ellipsis[] = "…";
    struct text fitting = {0};
    if (columns < LEAST_COLUMNS)
        return;
    if (columns >= LEAST_FOR_SHORT_NAME)
        short_name_add(&fitting, name, columns);
    bool cut = fitting.len && str_starts(fitting.s, ellipsis);
    xml_add(out, fitting.len && !cut ? fitting.s : name, columns);
    text_release(&fitting);
}

/* The name as far as it fits into WIDTH_PX, and the place if there is room for both. */
static void add_name(struct text *out, const struct caption *c, double width_px)
{
    enum { GAP = 2 };
    struct text place = {0};
    size_t columns = columns_in(width_px, c->name);
    size_t wanted = utf8_columns(c->name, strlen(c->name)) + GAP;
    add_fitting(out, c->name, columns);
    if (c->file && wanted < columns) {
        add_short_place(&place, c);
        columns = columns_in(width_px, place.s);
        if (wanted + utf8_columns(place.s, place.len) <= columns) {
            text_add(out, "<tspan class=\"place\">  ");
            xml_add(out, place.s, columns);
            text_add(out, "</tspan>");
        }
    }
    text_release(&place);
}

double flame_x(const struct flame_drawing *d, int64_t ns)
{
    return FLAME_MARGIN + (FLAME_WIDTH - 2 * FLAME_MARGIN) * share_of(ns, flame_total_ns(d));
}

uint32_t flame_y(uint32_t depth)
{
    return FLAME_TOP + depth * FLAME_ROW;
}

static int64_t us_of(int64_t ns)
{
    return (ns + NS_PER_US / 2) / NS_PER_US;
}

static void add_box(struct flame_drawing *d, const struct flame_box *box)
{
    struct text *out = &d->frames;
    struct caption c;
    double x = flame_x(d, box->start_ns);
    double width = flame_x(d, box->start_ns + box->ns) - x;
    caption_of(d, box, &c);
    text_addf(out, "<g data-t=\"%" PRId64 " %" PRId64 "\">", us_of(box->start_ns),
              us_of(box->start_ns + box->ns));
    add_details(d, box, &c);
    text_addf(out, "<rect x=\"%.2f\" y=\"%" PRIu32 "\" width=\"%.2f\" height=\"%d\" class=\"", x,
              flame_y(box->depth), width > 2.5 ? width - 1 : 0.6 * width, FLAME_ROW - 1);
    add_class(d, box, c.file);
    text_addf(out, "\"/><text x=\"%.2f\" y=\"%" PRIu32 "\">", x + FLAME_PAD,
              flame_y(box->depth) + 13);
    add_name(out, &c, width);
    text_add(out, "</text></g>\n");
}

static void add_frames(struct flame_drawing *d, uint64_t max_bytes)
{
    text_clear(&d->frames);
    text_add(&d->frames, "<g id=\"frames\">\n");
    for (size_t i = 0; i < d->boxes.n && d->frames.len <= max_bytes; i++)
        add_box(d, &d->boxes.items[i]);
    text_add(&d->frames, "</g>\n");
}

void flame_draw_frames(struct flame_drawing *d, uint64_t max_bytes)
{
    static const int steps[] = {FLAME_NARROW_ONE_PART, 500, 200, 100, 50, 20, 10, 5, 2, 1};
    uint64_t room = max_bytes ? max_bytes : SIZE_MAX;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        d->one_part = steps[i];
        free(d->boxes.items);
        d->boxes = flame_tree_place(&d->tree, max_i64(flame_total_ns(d) / d->one_part, 1));
        add_frames(d, room);
        if (d->frames.len <= room)
            return;
    }
}
