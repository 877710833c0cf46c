/* C functions between Python ones, the innermost of which blocks where nobody may stop it, below
 * room on the stack whose size is computed: only rbp leads out of it, and a capture without a stop
 * does not know rbp. */
#include <alloca.h>
#include <sys/epoll.h>

int calls_back(int (*callback)(void));
int blocks(int epoll, int ms);

int calls_back(int (*callback)(void))
{
    return callback() + 1;
}

int blocks(int epoll, int ms)
{
    struct epoll_event event;
    volatile char *room = alloca((unsigned)(1 + ms % 32));
    *room = 1;
    return epoll_wait(epoll, &event, 1, ms) + *room;
}
