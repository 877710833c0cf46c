/* Exports rows, and writes a line of log for each to a pipe.  The culprit: who reads the log is
 * slow, so the pipe is full; in the twin the log goes nowhere. */
#include "steady.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void read_slowly(int log)
{
    char lines[4096];
    while (read(log, lines, sizeof lines) > 0)
        usleep(40000);
    _exit(0);
}

static int open_log(bool twin)
{
    int ends[2];
    if (twin)
        return open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (pipe(ends) < 0)
        return -1;
    if (steady_fork_apart()) {
        close(ends[1]);
        read_slowly(ends[0]);
    }
    close(ends[0]);
    return ends[1];
}

static void log_row(int log, unsigned row)
{
    char line[1024];
    memset(line, (int)('a' + row % 26), sizeof line);
    (void)!write(log, line, sizeof line);
}

static unsigned export_row(unsigned row)
{
    for (int i = 0; i < 300000; i++)
        row = row * 1664525U + 1013904223U;
    return row;
}

int main(int argc, char **argv)
{
    int log = open_log(argc > 2 && strcmp(argv[2], "--twin") == 0);
    if (log < 0)
        return 1;
    for (unsigned i = 0; i < 64; i++)
        log_row(log, i); /* the log has its history */
    struct steady run = steady_begin(argc, argv);
    double logging_s = 0;
    for (unsigned row = 1; steady_goes_on(&run);) {
        row = export_row(row);
        double start_s = now();
        log_row(log, row);
        logging_s += now() - start_s;
    }
    steady_tell("share", steady_per_second(&run, logging_s));
    return 0;
}
