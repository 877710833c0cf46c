/* Ships of one harbour, each a process, which need its berth.  The culprit: a ship is killed while
 * it has that, and nobody posts the semaphore again; the twin's ship leaves first. */
#include "steady.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHIPS = 3 };

static sem_t *make_berths(void)
{
    static const char name[] = "/wallspy-berths";
    (void)shm_unlink(name);
    int file = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(sem_t)) < 0)
        abort();
    sem_t *berths = mmap(NULL, sizeof *berths, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (berths == MAP_FAILED || sem_init(berths, 1, 1) < 0)
        abort();
    (void)shm_unlink(name);
    return berths;
}

static void unload(sem_t *berths)
{
    while (sem_wait(berths) < 0)
        continue;
    usleep(2000);
    sem_post(berths);
}

static void sink(sem_t *berths, bool twin)
{
    if (!twin)
        while (sem_wait(berths) < 0)
            continue;
    (void)raise(SIGKILL);
}

int main(int argc, char **argv)
{
    sem_t *berths = make_berths();
    const struct steady run = steady_begin(argc, argv);
    if (fork() == 0)
        sink(berths, run.twin);
    usleep(20000);
    for (int i = 0; i < SHIPS; i++)
        if (fork() == 0) {
            (void)alarm((unsigned)(run.end_s - now()) + 1); /* it hangs */
            while (steady_goes_on(&run))
                unload(berths);
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
}
