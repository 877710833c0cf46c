/* The "wallspy" block of an output: the facts about the recording as a whole.  All facts of the
 * profile stand in it by their keys, beside the notes of this file, "version", "findings",
 * "processes" and "threads". */
#pragma once

#include "exporter/exporter.h"
#include "exporter/json.h"
#include "profile/profile.h"
#include "summary/thread_summary.h"

/* Writes the block as one object.  S is P's summaries; OPTIONS say how stacks are shown. */
void wallspy_block_write(struct json *j, const struct profile *p, const struct thread_summaries *s,
                         const struct view_options *options, const struct export_notes *notes);
