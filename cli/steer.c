#include "cli/steer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/ctl_server.h"
#include "cli/ctl_status.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "profile/moments.h"

enum { PAUSES_WITHIN_MS = 5000 }; /* then it is said that it does not pause yet */

struct steer {
    const struct options *options;
    struct recording *recording;
    struct outputs *outputs;
    struct ctl_server *server; /* NULL: there is none */
    struct ctl_progress progress;
    bool pause_wanted;
    int64_t pause_asked_ns;
    uint64_t pauser, stopper; /* clients who wait for that; 0: nobody does */
};

struct steer *steer_new(const struct options *o, struct recording *r, struct outputs *outputs)
{
    struct steer *s = xcalloc(1, sizeof *s);
    struct err err = {0};
    s->options = o;
    s->recording = r;
    s->outputs = outputs;
    s->progress.since_utc_ns = clock_utc_ns();
    s->progress.rate_asked_hz = o->rate_hz;
    s->server = ctl_server_open(&err);
    if (!s->server && o->verbose)
        terminal_warn("wallspy ctl cannot steer this recording: %s", err.text);
    return s;
}

int steer_fd(const struct steer *s)
{
    return ctl_server_fd(s->server);
}

static void set_error(struct ctl_answer *a, const char *error)
{
    (void)snprintf(a->error, sizeof a->error, "%s", error);
}

/* ---- pauses ---- */

static void say_paused(const struct steer *s, struct ctl_answer *a)
{
    text_add(&a->lines, "paused for ");
    text_add_span(&a->lines, (double)recording_paused_ns(s->recording) / NS_PER_S);
    text_add(&a->lines, "\n");
}

static void answer_pauser(struct steer *s, const char *error)
{
    struct ctl_answer a = {.lines = {0}};
    set_error(&a, error);
    ctl_server_answer(s->server, s->pauser, &a);
    s->pauser = 0;
}

/* A thread that waits for a page may be held at any time: it is asked for until it is not. */
static void pause_if_wanted(struct steer *s)
{
    if (!s->pause_wanted)
        return;
    s->pause_wanted = !recording_pause(s->recording);
    if (!s->pause_wanted) {
        terminal_info("paused, as wallspy ctl asks");
        answer_pauser(s, "");
    } else if (clock_now_ns() - s->pause_asked_ns > PAUSES_WITHIN_MS * (int64_t)NS_PER_MS) {
        answer_pauser(s, "a thread that was asked to stop has not stopped yet: the pause begins "
                         "when it has");
    }
}

static bool obey_pause(struct steer *s, uint64_t client, struct ctl_answer *ret)
{
    if (recording_paused_ns(s->recording) >= 0 || s->pause_wanted) {
        set_error(ret, s->pause_wanted ? "it is about to pause" : "it is paused already");
        return true;
    }
    s->pause_wanted = true;
    s->pause_asked_ns = clock_now_ns();
    s->pauser = client;
    return false;
}

static void obey_resume(struct steer *s, struct ctl_answer *ret)
{
    bool wanted = s->pause_wanted;
    s->pause_wanted = false;
    if (recording_paused_ns(s->recording) < 0) {
        if (wanted) {
            sampler_resume(recording_sampler(s->recording));
            answer_pauser(s, "it is to go on, before it has paused");
        } else {
            set_error(ret, "it is not paused");
        }
        return;
    }
    say_paused(s, ret);
    terminal_info("goes on: %.*s", (int)strcspn(ret->lines.s, "\n"), ret->lines.s);
    recording_resume(s->recording);
}

/* ---- the rest ---- */

static void obey_mark(const struct steer *s, const char *text, struct ctl_answer *ret)
{
    if (!profile_add_mark(recording_profile(s->recording), recording_running_ns(s->recording),
                          (uint64_t)clock_utc_ns(), text))
        set_error(ret, "it has 10,000 marks already");
}

int steer_snapshot(struct steer *s)
{
    int error = outputs_snapshot(s->outputs, s->recording);
    s->progress.snapshots++;
    s->progress.snapshot_ns = clock_now_ns();
    return error;
}

static void say_written(const struct steer *s, int error, struct ctl_answer *ret)
{
    text_add(&ret->lines, outputs_written(s->outputs));
    if (error == -ENODATA)
        set_error(ret, "no sample was taken");
    else if (error == -ECANCELED)
        set_error(ret, "it was discarded");
    else if (error < 0)
        (void)snprintf(ret->error, sizeof ret->error, "not all was written: %s", strerror(-error));
}

static void obey_snapshot(struct steer *s, struct ctl_answer *ret)
{
    int error = steer_snapshot(s);
    say_written(s, error, ret);
    if (error == 0 && !ret->lines.len)
        set_error(ret, "its name comes from the output's, and -o names no file");
}

/* It is answered when the files are there. */
static bool obey_stop(struct steer *s, uint64_t client, struct ctl_answer *ret)
{
    if (s->stopper) {
        set_error(ret, "it is about to stop");
        return true;
    }
    s->stopper = client;
    signals_ask_to_stop();
    return false;
}

static bool obey(void *ctx, uint64_t client, const struct ctl_request *request,
                 struct ctl_answer *ret)
{
    struct steer *s = ctx;
    switch (request->verb) {
    case CTL_STATUS:
        ctl_status_add(&s->progress, s->recording, s->outputs, request->json, &ret->lines);
        return true;
    case CTL_SNAPSHOT:
        obey_snapshot(s, ret);
        return true;
    case CTL_MARK:
        obey_mark(s, request->text, ret);
        return true;
    case CTL_PAUSE:
        return obey_pause(s, client, ret);
    case CTL_RESUME:
        obey_resume(s, ret);
        return true;
    case CTL_STOP:
        return obey_stop(s, client, ret);
    case CTL_TARGETS:
        ctl_status_add_targets(s->recording, &ret->lines);
        return true;
    case CTL_BRIEF:
        ctl_status_add_brief(s->recording, &ret->lines);
        return true;
    case CTL_VERBS:
        break;
    }
    return true;
}

void steer_look(struct steer *s)
{
    ctl_server_serve(s->server, obey, s);
    pause_if_wanted(s);
}

void steer_shut(struct steer *s)
{
    if (s)
        ctl_server_shut(s->server);
}

struct steer *steer_free(struct steer *s, int error)
{
    if (!s)
        return NULL;
    struct ctl_answer a = {.lines = {0}};
    say_written(s, error, &a);
    ctl_server_answer(s->server, s->stopper, &a);
    answer_pauser(s, "the recording has ended");
    (void)ctl_server_free(s->server);
    free(s);
    return NULL;
}
