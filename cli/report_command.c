#include "cli/report_command.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/exit_codes.h"
#include "cli/fleet_report.h"
#include "cli/report_recording.h"
#include "cli/speedscope_in.h"
#include "cli/terminal.h"
#include "fleet/byte_source.h"
#include "recording/recording_file.h"

enum { LOOKED_AT = 1 << 14 }; /* bytes: of a stream of dumps the first may be damaged */

/* By its first bytes; one that lost them still has its name. */
static bool is_recording(const char *path)
{
    return recording_file_is(path) || str_ends(path, ".wallspy");
}

static bool wants_tables(const struct options *o)
{
    return o->tables.threads || o->tables.functions || o->tables.waits || o->tables.tree;
}

static bool has(const char *s, size_t len, const char *words)
{
    return memmem(s, len, words, strlen(words)) != NULL;
}

/* Is there the beginning of a dump in the LEN bytes at S, wallspy's or py-spy's? */
static bool has_dump(const char *s, size_t len)
{
    static const char spaces[] = " \t\r\n";
    const char *const end = s + len;
    while (s < end && *s && strchr(spaces, *s))
        s++;
    if (s < end && *s == '{') { /* whatever spaces stand before the first key */
        const char *key = s + 1;
        while (key < end && *key && strchr(spaces, *key))
            key++;
        if (str_starts(key, "\"schema\""))
            return true;
    }
    len = (size_t)(end - s);
    return (s < end && *s == '[') || str_starts(s, "Process ") || has(s, len, "\nProcess ") ||
           has(s, len, "\n{\"schema\"") || has(s, len, "\n[");
}

/* Is PATH a file that is not empty, and has no dump at its beginning? */
static bool is_other(const char *path)
{
    char beginning[LOOKED_AT + 1] = "";
    struct byte_source source;
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || byte_source_open(&source, path) < 0)
        return false;
    size_t len = byte_source_ahead(&source, LOOKED_AT);
    len = len < LOOKED_AT ? len : LOOKED_AT;
    memcpy(beginning, source.at, len);
    bool damaged = source.wrong != NULL; /* the report of dumps says how */
    byte_source_close(&source);
    return len && !damaged && !has_dump(beginning, len);
}

/* Of one input; −1: it is dumps. */
static int report_one(const struct options *o, const char *path)
{
    if (is_recording(path))
        return report_recording(o, path);
    if (speedscope_is(path))
        return report_speedscope(o, path);
    if (o->json || o->map || !is_other(path)) /* the inputs are in the JSON, with what is wrong */
        return -1;
    terminal_error("%s is no recording, no dump and no speedscope file of wallspy's: report takes "
                   "FILE.wallspy and FILE.json of record -o, and what dump --json (or py-spy) "
                   "prints",
                   path);
    return EXIT_NO_SAMPLE;
}

/* Of several: only dumps go together.  Returns EXIT_OK, or an exit code, and says why. */
static int check_all(const struct options *o)
{
    for (size_t i = 0; i < o->inputs.n; i++) {
        const char *path = o->inputs.words[i];
        if (!is_recording(path) && !speedscope_is(path))
            continue;
        terminal_error("%s is a recording: report takes one recording, or any number of dumps",
                       path);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* Does O ask for what only a recording has? */
static bool is_for_recording(const struct options *o)
{
    return wants_tables(o) || o->why || o->from.kind || o->to.kind || o->threads.n ||
           o->processes.n || o->include.n || o->exclude.n || o->least_share > 0 || o->least_ns;
}

int report_command_main(const struct options *o)
{
    int code = o->inputs.n == 1 ? report_one(o, o->inputs.words[0]) : check_all(o);
    if (o->inputs.n == 1 ? code >= 0 : code != EXIT_OK)
        return code;
    if (is_for_recording(o)) {
        terminal_error("%s is no recording: its tables and parts are shown of one (-o "
                       "FILE.wallspy)",
                       o->inputs.words[0]);
        return EXIT_USAGE;
    }
    return fleet_report_main(o);
}
