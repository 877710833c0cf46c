/* Appends records to a journal.  usage: journal SECONDS [--twin] FILE.  The culprit: each record is
 * synced, and the disk takes its time; the twin syncs none. */
#include "steady.h"

#include <fcntl.h>
#include <unistd.h>

static char record[4096];

static void append(int fd, bool sync)
{
    for (double end_s = now() + 0.002; now() < end_s;)
        for (unsigned i = 0; i < sizeof record; i++)
            record[i] = (char)(record[i] * 3 + (char)i);
    (void)!pwrite(fd, record, sizeof record, 0);
    if (sync)
        fsync(fd);
}

int main(int argc, char **argv)
{
    int fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return 1;
    struct steady run = steady_begin(argc, argv);
    double appending_s = 0;
    unsigned records = 0;
    while (steady_goes_on(&run)) {
        double start_s = now();
        append(fd, !run.twin);
        appending_s += now() - start_s - 0.002;
        records++;
    }
    steady_tell("share", steady_per_second(&run, appending_s));
    steady_tell("sync_s", appending_s / records);
    return 0;
}
