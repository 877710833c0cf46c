/* A stack as it is shown: inlined calls expanded, internal functions hidden, one frame per function
 * or per line. Shared by every exporter, the closing table and dump, so that all say the same. */
#pragma once

#include "profile/profile.h"
#include "summary/spinning.h"

struct view_options {
    bool lines;     /* one frame per source line instead of per function */
    bool internals; /* show CPython's internal functions, and all that WHOLE does */
    bool whole;     /* show entry frames and the C library's aliases */
    bool no_native, no_python;
    unsigned weights;      /* 1 << enum weight: more profiles, for formats that can hold them */
    const bool *processes; /* by process: only the threads of these; NULL: of all.  Borrowed */
    /* The tid or name of a thread whose time the answer is about (summary/leader.h); NULL: it is
     * chosen.  Borrowed. */
    const char *leader;
    /* More rows for what is known of others' code, as known_init() takes them; NULL: none.
     * Borrowed, and without an error. */
    const char *known;
};

enum shown_kind { SHOWN_NATIVE, SHOWN_PYTHON, SHOWN_MARK, SHOWN_WAIT };
struct shown_frame {
    enum shown_kind kind;
    bool inlined, guessed;
    bool nameless;    /* native code that no symbol covers: NAME is its place */
    bool libc;        /* a function of the C library and the like: module_is_libc() */
    bool entry;       /* where every program and thread begins: _start, clone3, … */
    const char *name; /* "module+0xoffset" if nameless */
    const char *file; /* path of Python source; "[module] source path" for native; NULL: none; after
                         "[guessed]" if guessed, so that the function's name stays its */
    const char *source;    /* the path in FILE; NULL: none */
    uint32_t line;         /* as the options ask: the function's first line, or the line; 0: none */
    uint32_t current_line; /* the line being executed, whatever the options; 0: none */
    const char *module;    /* native: the module's base name; NULL otherwise */
    const char *module_path;         /* of MODULE's file; NULL: unknown */
    bool interpreter;                /* native code of the Python interpreter itself */
    uint64_t address;                /* native: absolute address when sampled; 0 otherwise */
    struct spin_marks spin;          /* SHOWN_NATIVE */
    const struct known_marks *known; /* what is known of it; NULL: nothing */
    /* The name of the event loop that it is a function of, NULL: of none; is it a pool's loop;
     * is_glue_frame(): kept, for they are asked of each frame of each stack of each run. */
    const char *loop;
    bool pool_loop, glue;
    /* SHOWN_WAIT.  WAIT_NONE: it runs, and spins for SPINS.  A path below a mount is shown as two
     * frames, which tell the same here. */
    enum wait_kind wait;
    const char *call, *object, *mount; /* as in struct wait; NULL: none */
    bool socket;                       /* it is for a socket */
    enum spin_kind spins;
    enum spin_kind asleep; /* the call is such a wait, asleep; CALL is "" then */
    uint32_t id;           /* equal name, file and line ⇔ equal id; 1… */
};

/* Borrows P, which must not gain frames or locations from now on. */
struct view;
struct view *view_new(const struct profile *p, const struct view_options *options);
/* The frames of AT's stack as shown, outermost first, and its wait behind them; none for nothing.
 * A stack whose frames are all hidden shows as "[not shown]".  Where a running thread only waits
 * (summary/spinning.h) a leaf says so.  The interpreter's nameless code is internal, too, but as
 * the innermost frame; that of a program which the interpreter is linked into only where it passes
 * a call on from one Python frame to another.  Entry frames stay where there is nothing else.  The
 * array is the view's, valid until the next call. */
const struct shown_frame *view_stack(struct view *v, struct spot at, size_t *ret_n);
/* All distinct shown frames: ids run from 1 to the count. */
const struct view_options *view_options(const struct view *v);
const struct shown_frame *view_frame(const struct view *v, uint32_t id);
const struct known_table *view_known(const struct view *v);
/* What is known of frame I of those that anything is known of, in no order; NULL: behind the
 * last. */
const struct known_marks *view_marks(const struct view *v, size_t i);
uint32_t view_frame_count(const struct view *v);
struct view *view_free(struct view *v);
