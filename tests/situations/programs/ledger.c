/* Sums up the pages of a mapped file, in no order.  The culprit: the kernel has dropped them each
 * time, as it does where memory is short, so that each has to come from the disk; in the twin they
 * stay.  It cannot be brought about where the file is in memory anyway. */
#include "steady.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 2048, STRIDE = 769, SKIPPED = 77, LEAST_FAULTS = 1000 };

static unsigned char *book;
static int book_fd;

static void write_book(void)
{
    char path[4096];
    const char *folder = getenv("TMPDIR");
    static char page[PAGE];
    (void)snprintf(path, sizeof path, "%s/ledger.XXXXXX", folder ? folder : "/tmp");
    book_fd = mkstemp(path);
    if (book_fd < 0)
        abort();
    (void)unlink(path);
    memset(page, 1, sizeof page);
    for (int i = 0; i < PAGES; i++)
        if (write(book_fd, page, sizeof page) != PAGE)
            abort();
    (void)fsync(book_fd);
    book = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_SHARED, book_fd, 0);
    if (book == MAP_FAILED)
        abort();
    (void)madvise(book, (size_t)PAGES * PAGE, MADV_RANDOM);
}

static void drop_book(void)
{
    (void)madvise(book, (size_t)PAGES * PAGE, MADV_DONTNEED);
    (void)posix_fadvise(book_fd, 0, 0, POSIX_FADV_DONTNEED);
}

static __attribute__((noinline)) unsigned add_up(void)
{
    unsigned sum = 0;
    for (int i = 0; i < PAGES; i++)
        sum += book[(size_t)(i * STRIDE % PAGES) * PAGE];
    return sum;
}

static double major_faults(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_majflt;
}

int main(int argc, char **argv)
{
    double sum = 0;
    write_book();
    drop_book();
    double before = major_faults();
    sum += add_up();
    if (major_faults() - before < LEAST_FAULTS) {
        (void)puts("the file's pages do not come from a disk");
        return SKIPPED;
    }
    struct steady run = steady_begin(argc, argv);
    before = major_faults();
    while (steady_goes_on(&run)) {
        if (!run.twin)
            drop_book();
        sum += add_up();
    }
    steady_tell("faults_per_s", steady_per_second(&run, major_faults() - before));
    return sum < 0;
}
