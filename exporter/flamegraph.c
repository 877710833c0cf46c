/* A profile as a flame graph: one SVG that needs nothing else.  It shows the wall time of the
 * threads that did something, as speedscope.c's "ALL active | wall" does, but alike threads are
 * one (summary/groups.h).  It is complete without its script, flamegraph.js, which adds zoom,
 * search and details in a browser.  Source: Scalable Vector Graphics 1.1 and 2. */
#include "exporter/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/share.h"
#include "base/text.h"
#include "exporter/flame_drawing.h"
#include "exporter/flame_groups.h"
#include "exporter/flamegraph_page.h"
#include "exporter/xml.h"

enum {
    MAX_DEPTH = 500,
    BOTTOM = 34, /* pixels below the last row */
    TICK_ROOM = 130,
    TITLE_COLUMNS = 56, /* leaves room for the tools */
    LINE_COLUMNS = 160,
    AROUND_BYTES = 12000, /* the text around the frames takes less */
};

/* ---- which time ---- */

static void add_group(struct flame_drawing *d, struct flame_group *g)
{
    struct path_timeline l = {0};
    struct text label = {0};
    const struct profile_thread *t;
    while ((t = flame_group_thread(g, d->p)))
        path_timeline_add_thread(&l, d->paths, t, WEIGHT_WALL, 0);
    text_add(&label, "");
    text_add_bytes(&label, g->label, g->label_len);
    flame_tree_add(&d->tree, d->paths, paths_add_frame(d->paths, label.s), &l);
    text_release(&label);
    path_timeline_release(&l);
}

/* GROUPS: lines of flame_groups.h. */
static void add_threads(struct flame_drawing *d, const char *groups)
{
    bool all_idle = true;
    struct flame_group g;
    for (const char *at = groups; flame_groups_take(&at, &g);)
        all_idle &= g.idle;
    for (const char *at = groups; flame_groups_take(&at, &g);) {
        if (g.idle && !all_idle) {
            d->n_idle += g.n_threads;
            continue;
        }
        add_group(d, &g);
        d->n_threads += g.n_threads;
    }
    flame_tree_sum(&d->tree);
}

/* ---- around the frames ---- */

/* "python3 train.py", "torchrun train.py and 3 more processes" */
static void add_title(const struct flame_drawing *d, struct text *out)
{
    struct text title = {0};
    const struct thread_summaries *s = &d->summaries;
    uint32_t n = s->n_processes;
    if (s->n) {
        const struct profile_process *process =
            profile_see_process(d->p, s->threads[0].thread->process);
        const char *command = profile_text(d->p, process->command);
        size_t program = strcspn(command, " ");
        while (program && command[program - 1] != '/')
            program--;
        text_add(&title, command + program);
    }
    if (n > 1)
        text_addf(&title, " and %" PRIu32 " more process%s", n - 1, n > 2 ? "es" : "");
    text_addf(out, "<text class=\"title\" x=\"%d\" y=\"26\">", FLAME_MARGIN);
    xml_add(out, title.len ? title.s : "wallspy", TITLE_COLUMNS);
    text_add(out, "</text>\n");
    text_release(&title);
}

/* "24.0 s of 4 threads in 6.0 s of wall time; 9 idle threads are not shown; HOST, 2026-…" */
static void add_subtitle(const struct flame_drawing *d, struct text *out)
{
    struct text line = {0};
    const char *host = profile_metadata_text(d->p, "host");
    const char *started = profile_metadata_text(d->p, "started");
    flame_add_seconds(&line, flame_total_ns(d));
    text_addf(&line, " of %zu thread%s in ", d->n_threads, d->n_threads == 1 ? "" : "s");
    flame_add_seconds(&line, profile_end_ns(d->p));
    text_add(&line, " of wall time");
    if (d->n_idle)
        text_addf(&line, "; %zu idle thread%s not shown", d->n_idle, d->n_idle == 1 ? "" : "s");
    text_addf(&line, "%s%s%s%s", *host ? "; " : "", host, *started ? ", " : "", started);
    text_addf(out, "<text class=\"quiet\" x=\"%d\" y=\"48\">", FLAME_MARGIN);
    xml_add(out, line.s, LINE_COLUMNS);
    text_add(out, "</text>\n");
    text_release(&line);
}

/* The colours that there are, each with the share of the time that ends in it. */
static void add_legend(const struct flame_drawing *d, struct text *out)
{
    static const char head[] = "The time is in:";
    int64_t sums[LOOK_COUNT] = {0};
    double x = FLAME_MARGIN + (double)strlen(head) * flame_char_width + 2 * FLAME_PAD;
    for (size_t i = 1; i < d->tree.n; i++)
        sums[flame_look_of(d, &d->tree.nodes[i])] += d->tree.nodes[i].self_ns;
    text_addf(out, "<g class=\"legend\"><text x=\"%d\" y=\"70\">%s</text>", FLAME_MARGIN, head);
    for (int i = 0; i < LOOK_COUNT; i++) {
        struct text words = {0};
        if (sums[i] < flame_total_ns(d) / 2000) /* rounds to 0.0 % */
            continue;
        const struct flame_look_row *look = flame_look_row((enum flame_look)i);
        text_addf(&words, "%s ", look->words);
        flame_add_percent(&words, sums[i], flame_total_ns(d));
        text_addf(out, "<rect class=\"%s%s\" x=\"%.0f\" y=\"59\" width=\"14\" height=\"14\"/>",
                  look->class, look->shaded ? "0" : "", x);
        text_addf(out, "<text x=\"%.0f\" y=\"70\">%s</text>\n", x + 18, words.s);
        x += 18 + (double)words.len * flame_char_width + 16;
        text_release(&words);
    }
    text_add(out, "</g>\n");
}

/* The least of 1, 2, 5, 10, 20 … that is no less than LEAST. */
static int64_t round_up(int64_t least)
{
    int64_t unit = 1;
    while (unit * 10 <= least)
        unit *= 10;
    for (int64_t step = 1; step <= 5; step += step == 1 ? 1 : 3)
        if (step * unit >= least)
            return step * unit;
    return 10 * unit;
}

static void add_axis(const struct flame_drawing *d, struct text *out)
{
    enum { TICKS = (FLAME_WIDTH - 2 * FLAME_MARGIN) / TICK_ROOM };
    int64_t end_ns = flame_total_ns(d);
    int64_t step_ns = round_up(end_ns / TICKS + 1);
    text_add(out, "<g id=\"axis\" class=\"axis quiet\">");
    for (int64_t at_ns = 0; at_ns <= end_ns; at_ns += step_ns) {
        double x = flame_x(d, at_ns);
        text_addf(out, "<line x1=\"%.2f\" x2=\"%.2f\" y1=\"%d\" y2=\"%d\"/>", x, x, FLAME_TOP - 18,
                  FLAME_TOP);
        if (x > FLAME_WIDTH - TICK_ROOM + 2 * FLAME_MARGIN)
            break;
        text_addf(out, "<text x=\"%.2f\" y=\"%d\">", x + FLAME_PAD, FLAME_TOP - 7);
        if (at_ns) {
            flame_add_seconds(out, at_ns);
            text_addf(out, ", %d %%", percent_of(at_ns, end_ns));
        } else {
            text_add(out, "0 s");
        }
        text_add(out, "</text>");
    }
    text_add(out, "</g>\n");
}

static void add_head(const struct flame_drawing *d, struct text *out)
{
    text_addf(out, "<g id=\"head\"><rect class=\"page\" width=\"%d\" height=\"%d\"/>\n",
              FLAME_WIDTH, FLAME_TOP - 1);
    add_title(d, out);
    add_subtitle(d, out);
    if (flame_total_ns(d)) {
        add_legend(d, out);
        add_axis(d, out);
    } else {
        text_addf(out, "<text x=\"%d\" y=\"%d\">No sample was taken.</text>", FLAME_MARGIN,
                  FLAME_TOP);
    }
    text_add(out, "</g>\n");
}

/* Says what the picture leaves out. */
static void add_foot(const struct flame_drawing *d, uint32_t y, struct text *out)
{
    uint32_t shortened = paths_shortened(d->paths);
    text_addf(out, "<text class=\"quiet\" x=\"%d\" y=\"%" PRIu32 "\">wallspy " WALLSPY_VERSION,
              FLAME_MARGIN, y);
    if (d->boxes.left_out)
        text_addf(out, ". %" PRIu64 " call%s under %g %% of all %s", d->boxes.left_out,
                  d->boxes.left_out == 1 ? "" : "s", 100.0 / (double)d->one_part,
                  d->boxes.merges ? "merged into grey frames or left out" : "left out");
    if (shortened)
        text_addf(out, ". %" PRIu32 " stack%s deeper than %d frames shown without the middle",
                  shortened, shortened == 1 ? "" : "s", MAX_DEPTH);
    text_add(out, ".</text>\n");
}

static void add_document(const struct flame_drawing *d, struct text *out)
{
    uint32_t bottom = flame_y(d->boxes.max_depth + 1);
    uint32_t height = bottom + BOTTOM;
    text_addf(out,
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%" PRIu32
              "\" viewBox=\"0 0 %d %" PRIu32 "\" data-margin=\"%d\" data-row=\"%d\" "
              "data-top=\"%d\" data-height=\"%" PRIu32 "\">\n<style><![CDATA[\n",
              FLAME_WIDTH, height, FLAME_WIDTH, height, FLAME_MARGIN, FLAME_ROW, FLAME_TOP, height);
    text_add(out, flamegraph_css);
    text_addf(out, "]]></style>\n<rect class=\"page\" width=\"%d\" height=\"%" PRIu32 "\"/>\n",
              FLAME_WIDTH, height);
    text_add_bytes(out, d->frames.s, d->frames.len);
    add_foot(d, bottom + 20, out);
    add_head(d, out);
    text_add(out, "<script><![CDATA[\n");
    text_add(out, flamegraph_js);
    text_add(out, "]]></script>\n</svg>\n");
}

static int write_document(const struct flame_drawing *d, FILE *out)
{
    struct text document = {0};
    add_document(d, &document);
    errno = 0;
    bool written = fwrite(document.s, 1, document.len, out) == document.len && fflush(out) == 0;
    text_release(&document);
    if (written)
        return 0;
    return errno ? -errno : -EIO;
}

int flamegraph_write(const struct profile *p, struct view *v,
                     const struct export_findings *findings, uint64_t max_bytes, FILE *out,
                     struct export_notes *ret_notes)
{
    struct flame_drawing d = {.p = p, .v = v, .paths = paths_new(p, v, MAX_DEPTH)};
    thread_summaries_init(&d.summaries, p, v);
    char *groups = flame_groups_of(p, v, &d.summaries, findings);
    add_threads(&d, groups);
    free(groups);
    uint64_t page_bytes = AROUND_BYTES + sizeof flamegraph_css + sizeof flamegraph_js;
    flame_draw_frames(&d, !max_bytes ? 0 : max_bytes > page_bytes ? max_bytes - page_bytes : 1);
    int r = write_document(&d, out);
    ret_notes->stacks_shortened = paths_shortened(d.paths);
    if (d.boxes.n && d.one_part != FLAME_NARROW_ONE_PART)
        (void)snprintf(ret_notes->coarsened, sizeof ret_notes->coarsened, "paths under %g%% folded",
                       100.0 / (double)d.one_part);
    text_release(&d.frames);
    free(d.boxes.items);
    flame_tree_release(&d.tree);
    thread_summaries_release(&d.summaries);
    paths_free(d.paths);
    return r;
}
