#include "cli/recording_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/quality.h"
#include "cli/terminal.h"
#include "recording/recording_file.h"

static void say_cut(const char *path, bool grows, const struct profile *p)
{
    struct text tame = {0};
    text_add_tame(&tame, path, strlen(path));
    double end_s = (double)profile_end_ns(p) / NS_PER_S;
    if (grows)
        terminal_warn("%s is still being written: this is its first %.1f s.", tame.s, end_s);
    else
        terminal_warn("%s is no whole recording: wallspy ended before it, or the file could not "
                      "grow. This is its first %.1f s.",
                      tame.s, end_s);
    text_release(&tame);
}

struct profile *recording_input_read(const char *path, const struct view_options *view,
                                     struct err *err)
{
    char *part = xasprintf("%s%s", path, recording_part_suffix);
    const char *found = access(path, F_OK) != 0 && access(part, F_OK) == 0 ? part : path;
    bool complete = true;
    bool grows = str_ends(found, recording_part_suffix) && recording_part_grows(found);
    struct profile *p = recording_file_read(found, &complete, err);
    if (p && !complete && profile_thread_count(p) == 0) {
        (void)err_set(err, -ENODATA, "%s: nothing was recorded %s", found,
                      grows ? "yet" : "before wallspy ended");
        p = profile_free(p);
    } else if (p && !complete) {
        say_cut(found, grows, p);
        quality_measure(p, view);
    }
    free(part);
    return p;
}
