/* Where the threads of a dump were in all its looks, not in the last one alone. */
#pragma once

#include "dump/dump.h"

struct dump_places;
/* Of a recording that is complete, and functions as OPTIONS show them.  Borrows PROFILE. */
struct dump_places *dump_places_new(const struct profile *profile,
                                    const struct view_options *options);
struct dump_places *dump_places_free(struct dump_places *p);
/* Was T in different functions in its looks? */
bool dump_places_moved(struct dump_places *p, const struct dump_thread *t);
/* Did T spin in all its looks, two or more: did it only wait for others, though it ran? */
bool dump_places_spun(struct dump_places *p, const struct dump_thread *t);
/* Appends where N MEMBERS of D's threads, which ran, spent the time of the look: "82% in fetch
 * mix.py:6 > clock_nanosleep, 18% in …".  Nothing if they all stayed where the last look has
 * them. */
void dump_places_add(struct dump_places *p, const struct dump *d, const size_t *members, size_t n,
                     struct text *out);
