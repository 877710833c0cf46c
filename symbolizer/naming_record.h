/* What the child process that names tells its parent, one record after the other.  A child that
 * crashes may have written anything before: the reader takes nothing on trust. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

enum naming_record_kind {
    RECORD_FILE,      /* it begins with file INDEX */
    RECORD_PLACE,     /* the locations of place INDEX; none: it has no name */
    RECORD_NO_SERVER, /* file INDEX: debuginfod has given up, for the reason in the only function */
    RECORD_END,       /* all is done; it replaced INDEX pages (target/elf_guard.h) */
    RECORD_KINDS,
};
struct naming_record {
    enum naming_record_kind kind;
    uint64_t index;
    uint32_t parts; /* locations */
    const char *at, *end;
};

/* LOCATIONS, N of them, with their strings of TEXTS. */
void naming_record_write(FILE *out, enum naming_record_kind kind, uint64_t index,
                         const struct location *locations, size_t n, const struct profile *texts);
/* RECORD_NO_SERVER. */
void naming_record_write_text(FILE *out, uint64_t index, const char *text);
/* The record that the LEN BYTES begin with; they stay in use.  Returns its length; 0: it is not
 * all there yet; -EPROTO. */
ssize_t naming_record_read(const char *bytes, size_t len, struct naming_record *ret);
/* Takes the next of R's parts: a location without its strings, and these.  False: -EPROTO. */
bool naming_record_part(struct naming_record *r, struct location *ret, const char **ret_function,
                        const char **ret_file);
