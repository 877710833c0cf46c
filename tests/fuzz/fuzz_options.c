/* Command lines: the input's lines are the arguments. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/options.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_ARGUMENTS = 64 };

static void check(const struct options *o)
{
    FUZZ_CHECK(o->command < COMMAND_COUNT);
    if (o->command == COMMAND_REPORT)
        FUZZ_CHECK(!o->argv && !o->n_pids && o->inputs.n > 0);
    else if (o->command == COMMAND_EXPORT)
        FUZZ_CHECK(!o->argv && !o->n_pids && o->inputs.n == 1);
    else if (o->command == COMMAND_CTL)
        FUZZ_CHECK(!o->n_pids);
    else if (o->command == COMMAND_DOCTOR)
        FUZZ_CHECK(!o->argv && o->n_pids <= 1);
    else
        FUZZ_CHECK(o->command == COMMAND_DUMP ? o->n_pids > 0 : o->argv || o->n_pids > 0);
    for (size_t i = 0; i < o->n_pids; i++)
        FUZZ_CHECK(o->pids[i] > 0);
    FUZZ_CHECK(o->rate_hz > 0 && o->duration_ns >= 0 && o->max_overhead > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *argv[MAX_ARGUMENTS + 2] = {"wallspy"};
    int argc = 1;
    char *lines = xmalloc(len + 1);
    if (len)
        memcpy(lines, bytes, len);
    lines[len] = '\0';
    for (char *at = lines, *line; argc <= MAX_ARGUMENTS && (line = strsep(&at, "\n"));)
        argv[argc++] = line;
    struct options o;
    struct err err = {0};
    enum options_result r = options_parse(&o, argc, argv, &err);
    if (r == OPTIONS_RUN && o.command != COMMAND_STANDBY)
        check(&o);
    FUZZ_CHECK(r != OPTIONS_BAD || err.text[0]);
    options_release(&o);
    free(lines);
    return 0;
}
