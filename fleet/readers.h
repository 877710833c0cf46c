/* The forms of dumps, each read into a fleet.  What is wrong ends a document, and what was read of
 * it stays. */
#pragma once

#include "fleet/fleet.h"
#include "fleet/json_in.h"

/* Reads a document of the schema dump/1 whose opening bracket has been taken.  Returns how many
 * processes it added; J->wrong says if it ended too early, FOREIGN that it is another schema.
 * Source: docs/dump.md. */
uint32_t dump_in_read(struct fleet *f, struct json_in *j, uint32_t input, bool *foreign);
/* The same for an array of threads as `py-spy dump --json` writes it, in which no host is named. */
uint32_t pyspy_in_json(struct fleet *f, struct json_in *j, uint32_t input);
/* py-spy's text, to the end of its last thread.  WRONG: why it is none, or ends too early. */
uint32_t pyspy_in_text(struct fleet *f, struct byte_source *s, uint32_t input, const char **wrong);
