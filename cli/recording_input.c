#include "cli/recording_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/quality.h"
#include "cli/terminal.h"
#include "cli/window.h"
#include "recording/recording_file.h"

/* RING: of a ring that has gone round. */
static void say_cut(const char *path, bool grows, bool ring, const struct profile *p)
{
    struct text tame = {0};
    const char *part = ring ? "last" : "first";
    text_add_tame(&tame, path, strlen(path));
    double end_s = (double)profile_end_ns(p) / NS_PER_S;
    if (grows)
        terminal_warn("%s is still being written: this is its %s %.1f s.", tame.s, part, end_s);
    else
        terminal_warn("%s is no whole recording: wallspy ended before it, or the file could not "
                      "grow. This is its %s %.1f s.",
                      tame.s, part, end_s);
    text_release(&tame);
}

/* P; but where O asks for a part of it that the file has in a finer order, that.  Takes over P, and
 * returns as recording_input_read(). */
static struct profile *choose(const char *path, const struct options *o, struct profile *p,
                              struct err *err)
{
    struct err no_part = {0}; /* window_cut() says so */
    struct err damaged = {0};
    int64_t from_ns;
    int64_t to_ns;
    if ((!o->from.kind && !o->to.kind) || window_of(o, p, &from_ns, &to_ns, &no_part) < 0)
        return p;
    struct profile *finer = recording_file_read_part(path, from_ns, to_ns, &damaged);
    if (!finer && !*damaged.text)
        return p;
    if (!finer)
        *err = damaged;
    profile_free(p);
    return finer;
}

/* As recording_input_read(), of the file PATH itself. */
static struct profile *read_one(const char *path, const struct options *o, struct err *err)
{
    bool complete = true;
    bool grows = str_ends(path, recording_part_suffix) && recording_part_grows(path);
    struct profile *p = recording_file_read(path, &complete, err);
    if (p)
        p = choose(path, o, p, err);
    if (!p || complete)
        return p;
    if (profile_thread_count(p) == 0) {
        (void)err_set(err, -ENODATA, "%s: nothing was recorded %s", path,
                      grows ? "yet" : "before wallspy ended");
        return profile_free(p);
    }
    profile_set_number(p, METRIC_CUT_SHORT, 1);
    quality_measure(p, &o->view);
    int64_t unused;
    bool ring = window_cut_ring(p, &o->view, &unused);
    say_cut(path, grows, ring, p);
    return p;
}

/* PART, beside PATH, is of a later recording, which goes on or was killed. */
static void say_later(const char *path, const char *part)
{
    struct stat earlier;
    struct stat later;
    struct text tame = {0};
    if (stat(path, &earlier) != 0 || stat(part, &later) != 0 || later.st_mtime < earlier.st_mtime)
        return;
    text_add_tame(&tame, path, strlen(path));
    terminal_warn("%s is an earlier recording. What there is of a later one is in %s%s.", tame.s,
                  tame.s, recording_part_suffix);
    text_release(&tame);
}

struct profile *recording_input_read(const char *path, const struct options *o, struct err *err)
{
    char *part = xasprintf("%s%s", path, recording_part_suffix);
    bool grows = access(path, F_OK) != 0 && access(part, F_OK) == 0;
    struct profile *p = grows ? read_one(part, o, err) : NULL;
    if (!p && (!grows || access(path, F_OK) == 0)) /* it may have got its name meanwhile */
        p = read_one(path, o, err);
    if (p && !grows)
        say_later(path, part);
    free(part);
    return p;
}
