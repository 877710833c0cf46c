/* The recording itself, which holds what the profile does whatever is shown of it. */
#include "base/log.h"
#include "exporter/formats.h"
#include "recording/recording_file.h"

int recording_write_format(const struct profile *p, struct view *v,
                           const struct export_findings *findings, uint64_t max_bytes, FILE *out,
                           struct export_notes *ret_notes)
{
    struct err err = {0};
    (void)findings, (void)ret_notes; /* whoever reads it finds them anew, with today's rules */
    (void)max_bytes; /* a run takes less room in the file than the profile has given it */
    int r = recording_file_write(p, view_options(v)->processes, out, &err);
    if (*err.text)
        log_warn("recording", "%s", err.text);
    return r;
}
