/* A speedscope file while it is read.  Private to speedscope_*.c. */
#pragma once

#include "cli/shown_words.h"
#include "cli/speedscope_in.h"
#include "fleet/json_in.h"

enum {
    MOST_FRAMES = 1 << 20,
    MOST_SAMPLES = 1 << 22,  /* of one profile */
    MOST_DEPTH = 1 << 12,    /* a file has a thousand */
    MOST_ROWS = 1 << 16,     /* processes, threads */
    MOST_PROFILES = 1 << 10, /* a file has 250 */
    NAME_BYTES = SHOWN_WORDS_BYTES,
};

static const int64_t reading_most_ns = INT64_C(1) << 58; /* nine years */

/* A frame of the file: of the profile, or the words of a wait. */
struct frame_row {
    frame_id frame;
    string_id name;
    bool waits;
};
struct thread_row {
    thread_id id;
    string_id label, group; /* GROUP: without tid, numbers as '*' */
    bool idle;
};
struct reading {
    struct json_in j;
    struct speedscope *ret;
    struct profile *p;
    const char *wrong; /* NULL: nothing so far */
    bool ours;         /* wallspy wrote it */
    int64_t end_ns;
    struct frame_row *frames;
    size_t n_frames, frames_capacity;
    struct thread_row *threads;
    size_t n_threads, threads_capacity;
    /* Of the present profile, by sample. */
    struct sample {
        struct spot at;
        enum run_state state;
    } * samples;
    size_t n_samples, samples_capacity;
};

/* Notes what is wrong, unless something was before; returns false. */
bool reading_fail(struct reading *r, const char *wrong);
/* Is there more to read? */
bool reading_goes_on(const struct reading *r);
/* The next value; none, and 0, where it is of another kind. */
string_id reading_text(struct reading *r);
int64_t reading_count(struct reading *r); /* a whole number from 0 to what nine years have */
/* Reads the array that comes next: EACH of at most MOST items. */
void reading_array(struct reading *r, size_t most, void (*each)(struct reading *r));
/* The "wallspy" block: processes, threads, numbers, texts, findings. */
void reading_block(struct reading *r);
