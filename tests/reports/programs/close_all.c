/* A child closes all descriptors that it could have before it begins. */
#include <sys/wait.h>
#include <unistd.h>

#include "account.h"

enum { LIMIT = 131072 };
static double waiting;

static void close_file_descriptors(void)
{
    for (int fd = 3; fd < LIMIT; fd++)
        close(fd);
}

static void start_subprocess(void)
{
    double begin = now_s();
    pid_t child = fork();
    if (child == 0) {
        close_file_descriptors();
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
    waiting += now_s() - begin;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    ready(argv);
    while (goes_on())
        start_subprocess();
    tell("start_subprocess", waiting);
}
