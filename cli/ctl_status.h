/* How a running recording is, for `wallspy ctl`. */
#pragma once

#include "base/text.h"
#include "cli/outputs.h"
#include "worker/recording.h"

/* What the recording itself does not know. */
struct ctl_progress {
    int64_t since_utc_ns;
    double rate_asked_hz;
    unsigned snapshots;
    int64_t snapshot_ns; /* when the last one was written (clock_now_ns()) */
};
/* Appends the whole status: lines "key: value" (docs/ctl.md), or one line of JSON, of schema
 * status/1. */
void ctl_status_add(const struct ctl_progress *progress, struct recording *r,
                    const struct outputs *outputs, bool json, struct text *out);
/* Appends "PID\n" for each process that is sampled and has not ended. */
void ctl_status_add_targets(struct recording *r, struct text *out);
/* Appends one line: the process asked for, since when, by whom. */
void ctl_status_add_brief(struct recording *r, struct text *out);
