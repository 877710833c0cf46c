#include "cli/report_command.h"

#include "cli/exit_codes.h"
#include "cli/fleet_report.h"
#include "cli/report_recording.h"
#include "cli/terminal.h"
#include "recording/recording_file.h"

/* By its first bytes; one that lost them still has its name. */
static bool is_recording(const char *path)
{
    return recording_file_is(path) || str_ends(path, ".wallspy");
}

static bool wants_tables(const struct options *o)
{
    return o->tables.threads || o->tables.functions || o->tables.waits || o->tables.tree;
}

int report_command_main(const struct options *o)
{
    for (size_t i = 0; i < o->inputs.n; i++) {
        const char *path = o->inputs.words[i];
        if (!is_recording(path))
            continue;
        if (o->inputs.n == 1)
            return report_recording(o, path);
        terminal_error("%s is a recording: report takes one recording, or any number of dumps",
                       path);
        return EXIT_USAGE;
    }
    if (wants_tables(o)) {
        terminal_error("%s is no recording: its tables are shown of one (-o FILE.wallspy)",
                       o->inputs.words[0]);
        return EXIT_USAGE;
    }
    return fleet_report_main(o);
}
