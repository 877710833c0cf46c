/* Frames and waits of the profile, made of the words that a speedscope file has for them. */
#pragma once

#include "profile/profile.h"

enum { SHOWN_WORDS_BYTES = 1024 };
struct shown_words {
    string_id name;
    char file[SHOWN_WORDS_BYTES]; /* "": none */
    uint32_t line;                /* where the function begins; 0: unknown */
};
/* Are W those of a wait? */
bool shown_words_wait(const struct shown_words *w);
/* The frame that is shown so; NUMBER tells it from all others. */
frame_id shown_words_frame(struct profile *p, const struct shown_words *w, uint64_t number);
/* The wait that is shown as WORDS, "read /mnt/data [blocked]", and PATH below that mount; NULL:
 * there is no further frame.  One of no known kind is unknown. */
struct wait shown_words_as_wait(struct profile *p, const char *words, const char *path);
