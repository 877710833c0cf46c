/* A thread that runs code of a file whose server stops answering.
 * Prints "server=PID", which takes requests and answers none after SIGUSR1; skips where that is not
 * available. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counts.h"
#include "slow_file.h"

static struct count counts[] = {{.name = "server"}, {0}};

static void *code_main(void *code)
{
    void (*loop)(void);
    *(void **)&loop = (char *)code + SLOW_FILE_LOOP;
    loop();
    return code;
}

int main(void)
{
    int server = 0;
    int fd = slow_file_mount(0, &server);
    void *code = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (code == MAP_FAILED)
        return skip("FUSE");
    counts[0].n = server + *(volatile char *)code * 0; /* its page is there from now on */
    start_thread(code_main, code, "worker");
    answer(counts);
    _exit(0);
}
