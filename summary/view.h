/* A stack as it is shown: inlined calls expanded, plumbing hidden, one frame per function or per
 * line. Shared by every exporter, the closing table and dump, so that all say the same. */
#pragma once

#include "profile/profile.h"

struct view_options {
    bool lines;     /* one frame per source line instead of per function */
    bool internals; /* show plumbing */
    bool no_native, no_python;
    process_id process; /* only this one's threads; none: all */
};

enum shown_kind { SHOWN_NATIVE, SHOWN_PYTHON, SHOWN_MARK };
struct shown_frame {
    enum shown_kind kind;
    bool inlined, guessed;
    bool nameless;    /* native code that no symbol covers: NAME is where it is */
    const char *name; /* marked " [guessed]" if guessed; "module+0xoffset" if nameless */
    const char *file; /* path of Python source; "[module] source path" for native; NULL: none */
    uint32_t line;    /* as the options ask: the function's first line, or the line; 0: none */
    uint32_t current_line; /* the line being executed, whatever the options; 0: none */
    const char *module;    /* native: the module's base name; NULL otherwise */
    uint64_t address;      /* native: absolute address when sampled; 0 otherwise */
    uint32_t id;           /* equal name, file and line ⇔ equal id; 1… */
};

/* Borrows P, which must not gain frames or locations any more. */
struct view;
struct view *view_new(const struct profile *p, const struct view_options *options);
/* The frames of S as shown, outermost first; none for no stack.  A stack of which nothing is left
 * shows as "[not shown]".  The interpreter's nameless code is plumbing too, but as the innermost
 * frame.  The array is the view's, valid until the next call. */
const struct shown_frame *view_stack(struct view *v, stack_id s, size_t *ret_n);
/* All distinct shown frames: ids run from 1 to the count. */
const struct view_options *view_options(const struct view *v);
const struct shown_frame *view_frame(const struct view *v, uint32_t id);
uint32_t view_frame_count(const struct view *v);
struct view *view_free(struct view *v);
