/* The "wallspy" block of an output: the facts about the recording as a whole.  All facts of the
 * profile stand in it by their keys, beside the notes of this file, "version", "findings",
 * "processes" and "threads". */
#pragma once

#include "exporter/exporter.h"
#include "exporter/json.h"
#include "profile/profile.h"
#include "summary/thread_summary.h"

/* Writes the block as one object.  S is P's summaries, made with V.  FINDINGS may be NULL. */
void wallspy_block_write(struct json *j, const struct profile *p, const struct thread_summaries *s,
                         struct view *v, const struct export_findings *findings,
                         const struct export_notes *notes);
