/* Waits in a library: its file is what names.py calls it. */
#include <unistd.h>

int wait_in_library(int fd);

/* Not a tail call: its frame is to be seen. */
int wait_in_library(int fd)
{
    char c;
    volatile ssize_t n = read(fd, &c, 1);
    return (int)n;
}
