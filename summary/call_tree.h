/* All stacks of a profile as one tree of the names that a reader uses: without glue, recursion and
 * waits for a CPU (which are a state, not a place), files of one mount as one.  And how long
 * threads were in each node of it.
 *
 * The table's paths, findings and groups of alike threads all come from here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "summary/asks.h"
#include "summary/frame_role.h"
#include "summary/futex_kind.h"
#include "summary/intervals.h"
#include "summary/view.h"

struct call_tree;
/* How a function of the user's only asks while it runs (own_spins.h). */
enum own_spin {
    OWN_SPIN_NONE,
    OWN_SPIN_LOOPS, /* in a loop of a few instructions or lines */
    OWN_SPIN_ASKS,  /* by Queue.empty(), Event.is_set() and the like */
};
struct call_node {
    uint32_t parent, depth;          /* the root, node 0, is its own parent, of depth 0 */
    const struct shown_frame *frame; /* one of those that the node stands for; NULL: the root */
    enum frame_role role;            /* of a frame that is no wait */
    uint32_t key;                    /* equal for all nodes of one function or one wait */
    bool files;            /* a wait for a file: the node stands for all files below its mount */
    bool sockets;          /* a wait for a socket: the node stands for all other ends */
    enum futex_kind futex; /* the kind of a wait in futex(2) */
    bool idle;             /* a wait for work: a known pool's, or the poll of an event loop */
    bool own_loop;         /* and that loop is the program's own */
    enum own_spin spins;
    enum asked asked; /* of one that spins: what for; ASKED_NOTHING: unknown */
};

/* Borrows P and V, which must show functions, not lines. */
struct call_tree *call_tree_new(const struct profile *p, struct view *v);
struct call_tree *call_tree_free(struct call_tree *t);
const struct profile *call_tree_profile(const struct call_tree *t);
uint32_t call_tree_of(struct call_tree *t, struct spot at); /* 0: nothing */
struct call_node call_tree_node(const struct call_tree *t, uint32_t node);
uint32_t call_tree_count(const struct call_tree *t); /* nodes run from 1 to this */
/* NODE, a wait, is the poll of an event loop of the program's own: to be said before its time is
 * added up. */
void call_tree_mark_loop(struct call_tree *t, uint32_t node);
void call_tree_mark_spin(struct call_tree *t, uint32_t node, enum own_spin spins,
                         enum asked asked); /* the same */
/* The user's innermost function at or above NODE; 0: there is none. */
uint32_t call_tree_own(const struct call_tree *t, uint32_t node);
bool call_tree_is_within(const struct call_tree *t, uint32_t node, uint32_t outer);
/* The line of NODE's frame in AT, which is at or below NODE; of a function that calls itself that
 * of its innermost call.  0: unknown. */
uint32_t call_tree_line(struct call_tree *t, struct spot at, uint32_t node);
/* The file that AT waits for, if its leaf is a node of files; none otherwise. */
string_id call_tree_file(const struct call_tree *t, struct spot at);
/* The other end of the socket that AT waits for, in words; none: unknown, or no socket. */
string_id call_tree_peer(struct call_tree *t, struct spot at);
const char *call_tree_peer_text(const struct call_tree *t, string_id peer);
const char *call_tree_text(const struct call_tree *t, string_id id); /* of the profile */
/* What cause.c has found out about runs like RUN, at that spot in that state.  False: nothing. */
bool call_tree_note(const struct call_tree *t, const struct run *run, uint64_t *ret);
void call_tree_set_note(struct call_tree *t, const struct run *run, uint64_t note);

/* ---- sums ---- */

/* A part of one thread's time: the INTERVALS, in order; NULL: all of it. */
struct time_span {
    const struct profile_thread *thread;
    const struct interval *intervals;
    size_t n;
};
struct run_parts time_span_parts(const struct time_span *span);
enum {
    TALLY_RUNNING = 1 << RUN_RUNNING | 1 << RUN_RUNNING_OR_RUNNABLE,
    TALLY_RUNNABLE = 1 << RUN_RUNNABLE,
    TALLY_BLOCKED = 1 << RUN_BLOCKED,
    TALLY_STOPPED = 1 << RUN_STOPPED,
    TALLY_ALL = TALLY_RUNNING | TALLY_RUNNABLE | TALLY_BLOCKED | TALLY_STOPPED,
};
/* How long some threads were in which node.  Zero-initialise but for TREE and STATES. */
struct tally {
    struct call_tree *tree; /* borrowed */
    unsigned states;        /* TALLY_…: the states that are added up */
    enum weight weight;     /* by what; of all but WEIGHT_WALL no span has a part */
    unsigned skipped_waits; /* 1 << enum wait_kind: not added up, though the state fits */
    int64_t idle_ns;        /* in waits for work, which are in no other sum */
    int64_t *self_ns, *total_ns;
    size_t n; /* nodes that there are sums of */
    bool totalled;
    int64_t all_ns; /* in these states, without stacks, too */
    uint64_t samples;
    struct time_span *spans; /* the added ones */
    size_t n_spans, spans_capacity;
};
void tally_init(struct tally *t, struct call_tree *tree, unsigned states);
/* INTERVALS, N > 0 in order, disjoint, are borrowed. */
void tally_add(struct tally *t, const struct profile_thread *thread,
               const struct interval *intervals, size_t n);
void tally_add_thread(struct tally *t, const struct profile_thread *thread); /* all of its time */
/* Calls SEE for each part of a run that has time, NS, and the node of its stack. */
typedef void tally_see(void *ctx, const struct run_parts *part, uint32_t node, int64_t ns);
void tally_each(const struct tally *t, tally_see *see, void *ctx);
int64_t tally_self(struct tally *t, uint32_t node);
int64_t tally_total(struct tally *t, uint32_t node); /* with all nodes below NODE */
/* The two lines with most of the time of some nodes, and the time of all that are known. */
struct tally_lines {
    uint32_t first, second; /* 0: none */
    int64_t first_ns, second_ns, all_ns;
};
/* FRAMES: by node, the node at or above it whose frame's line is meant for the time that the node
 * itself has; 0: that time does not count. */
struct tally_lines tally_lines(struct tally *t, const uint32_t *frames);
/* How many files are waited for in NODES, by node, which are of files; their common folder in
 * RET_FOLDER, or the one file's path. */
size_t tally_files(struct tally *t, const bool *nodes, struct text *ret_folder);
/* How many other ends of the waits in NODES, which are of sockets, are known; the one with the most
 * time in *RET_MOST (call_tree_peer_text()), and its time. */
size_t tally_peers(struct tally *t, const bool *nodes, string_id *ret_most, int64_t *ret_ns);
/* How long the waits in NODE and below took on average; 0: unknown. */
int64_t tally_wait_ns(struct tally *t, uint32_t node);
void tally_release(struct tally *t);
