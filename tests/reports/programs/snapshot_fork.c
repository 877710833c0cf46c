/* A server forks to save what it has in memory, and then copies each page that it writes to. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "account.h"

enum { PAGE = 4096, PAGES = 512 << 8 };
static double forking, setting;

static pid_t save_snapshot(void)
{
    double begin = now_s();
    pid_t child = fork();
    if (child == 0) {
        rest(0.1);
        _exit(0);
    }
    forking += now_s() - begin;
    return child;
}

static void set_key(char *data, unsigned key)
{
    data[(size_t)(key * 2654435761U % PAGES) * PAGE]++;
}

static void serve(char *data, int requests)
{
    double begin = now_s();
    for (int i = 0; i < requests; i++)
        set_key(data, (unsigned)i);
    setting += now_s() - begin;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    char *data = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(data, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    serve(data, PAGES);
    setting = 0;
    ready(argv);
    while (goes_on()) {
        pid_t child = save_snapshot();
        serve(data, PAGES / 2);
        compute(0.02);
        waitpid(child, NULL, 0);
    }
    tell("fork and set_key", forking + setting);
}
