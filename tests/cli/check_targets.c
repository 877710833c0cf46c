/* What record and dump do before they attach, alone: reads the command line, checks the targets,
 * prints the processes that would be sampled. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/exit_codes.h"
#include "cli/targets.h"
#include "cli/terminal.h"

int main(int argc, char **argv)
{
    struct options o;
    struct err err = {0};
    if (options_parse(&o, argc, argv, &err) != OPTIONS_RUN)
        return EXIT_USAGE;
    terminal_open(o.color, o.quiet);
    pid_t *pids = NULL;
    size_t n = 0;
    int code = targets_check(&o, &pids, &n);
    for (size_t i = 0; i < n; i++)
        (void)printf("%d\n", pids[i]);
    free(pids);
    options_release(&o);
    return code;
}
