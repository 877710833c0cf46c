/* A profile in a file format.  Each format is one file of this folder and one row in exporter.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "profile/profile.h"
#include "summary/view.h"

enum { EXPORTER_MAX_SUFFIXES = 2, EXPORT_NOTE_BYTES = 128 };

/* The parts of the profile that one file leaves out.  The file says so itself, if its format
 * can. */
struct export_notes {
    char coarsened[EXPORT_NOTE_BYTES]; /* to hold the budget (docs/speedscope.md); "": nothing */
    uint32_t stacks_shortened;         /* stacks too deep for the format */
};

/* What the recording means, which cli/explanation.h makes: formats that can hold it do. */
struct export_findings {
    const char *json;   /* an array of exporter/findings_block.h; NULL: there are none */
    const char *groups; /* lines of exporter/flame_groups.h; NULL: there are none */
    const char *why;    /* why not; NULL: nobody looked for them */
};

/* Writes what V shows of P, and FINDINGS (NULL: nobody looked for them), in at most MAX_BYTES (0:
 * any number), as far as the names alone allow.  RET_NOTES is zeroed before.  Returns 0 or a
 * negative errno of the writes. */
typedef int format_write(const struct profile *p, struct view *v,
                         const struct export_findings *findings, uint64_t max_bytes, FILE *out,
                         struct export_notes *ret_notes);

struct exporter {
    const char *name, *alias;                    /* as -f takes them; ALIAS NULL: none */
    const char *suffixes[EXPORTER_MAX_SUFFIXES]; /* ".json"; default names have the first */
    const char *advice;                          /* for users of such a file; NULL: none */
    uint64_t max_bytes;                          /* the most that its readers open; 0: any number */
    bool uncompressed;                           /* its readers open no ".gz" */
    bool grows; /* it can be written while the recording goes on (recording/growing.h) */
    format_write *write;
};

/* Writes P to OUT in at most MAX_BYTES (0: as many as the format allows).  Returns 0 or a negative
 * errno of the writes.  RET_NOTES is written in any case. */
int exporter_write(const struct exporter *e, const struct profile *p,
                   const struct view_options *options, const struct export_findings *findings,
                   uint64_t max_bytes, FILE *out, struct export_notes *ret_notes);

/* The formats, in the order of the help; NULL: there is no Ith. */
const struct exporter *exporter_at(size_t i);
/* The default format: the first row. */
const struct exporter *exporter_default(void);
const struct exporter *exporter_by_name(const char *name); /* NULL: unknown */
/* By suffix, which ".gz" may follow if the format is not uncompressed; NULL: unknown. */
const struct exporter *exporter_by_path(const char *path);
/* Has PATH a suffix of E's, perhaps with ".gz" behind it? */
bool exporter_has_suffix(const struct exporter *e, const char *path);

/* For the help and for errors: "speedscope or folded (raw)". */
void exporter_add_names(struct text *out);
/* ".json (speedscope), .folded or .txt (folded)" */
void exporter_add_suffixes(struct text *out);
