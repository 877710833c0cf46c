/* A flame graph while it is drawn: what flamegraph.c makes and flame_frames.c draws. */
#pragma once

#include "base/text.h"
#include "exporter/flame_tree.h"
#include "summary/paths.h"
#include "summary/thread_summary.h"

/* Lengths are in pixels.  The script lays the frames out anew for the width of its window. */
enum {
    FLAME_WIDTH = 1200,
    FLAME_MARGIN = 10,
    FLAME_ROW = 18,
    FLAME_TOP = 100, /* of the first row */
    FLAME_PAD = 4,   /* between a frame's edge and its name */
};
enum { FLAME_NARROW_ONE_PART = 1000 };
extern const double flame_char_width; /* of a monospaced font of 12 pixels, at most */

struct flame_drawing {
    const struct profile *p;
    struct view *v;
    struct paths *paths;
    struct thread_summaries summaries;
    struct flame_tree tree;
    struct flame_boxes boxes;
    int64_t one_part;         /* a frame narrower than 1/ONE_PART of all is not drawn by itself */
    size_t n_threads, n_idle; /* drawn, and left out */
    struct text frames;       /* the element that holds all frames */
};
int64_t flame_total_ns(const struct flame_drawing *d);
double flame_x(const struct flame_drawing *d, int64_t ns);
uint32_t flame_y(uint32_t depth);

/* The kind of a frame, which its colour shows. */
enum flame_look {
    LOOK_PYTHON,
    LOOK_NATIVE,
    LOOK_GIL,
    LOOK_CPU,
    LOOK_BLOCKED,
    LOOK_PAGE_FAULT,
    LOOK_MARK,
    LOOK_THREAD,
    LOOK_COUNT,
};
struct flame_look_row {
    const char *class; /* of flamegraph.css, with a digit behind it if shaded */
    const char *words;
    bool shaded; /* a shade a file */
};
const struct flame_look_row *flame_look_row(enum flame_look look);
enum flame_look flame_look_of(const struct flame_drawing *d, const struct flame_node *node);

/* "1.20 s", "35 ms" */
void flame_add_seconds(struct text *out, int64_t ns);
/* "12.5 %" */
void flame_add_percent(struct text *out, int64_t part, int64_t whole);
/* Makes D's boxes and its frames in at most MAX_BYTES (0: any number).  Only calls of one part in
 * ONE_PART at least are drawn by themselves: of a thousand, or of less if the bytes do not
 * suffice; of one if they never do. */
void flame_draw_frames(struct flame_drawing *d, uint64_t max_bytes);
