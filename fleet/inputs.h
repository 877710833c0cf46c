/* Where dumps come from: files, directories, standard input.  An input that is no dump, or ends too
 * early, is noted in the fleet and costs no other one. */
#pragma once

#include "fleet/fleet.h"

/* Reads N PATHS, each a file, plain or compressed by gzip, with any number of dumps one after the
 * other; a directory with such files, also in some levels of directories below; "-": standard
 * input.  Each file is read once, whatever leads to it. */
void inputs_read(struct fleet *f, const char *const *paths, size_t n);
/* The same of bytes: LEN bytes at S, called NAME. */
void inputs_read_bytes(struct fleet *f, const char *name, const char *s, size_t len);
