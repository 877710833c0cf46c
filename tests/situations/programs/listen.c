/* A server without clients.  Healthy. */
#include "steady.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct pollfd server = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .events = POLLIN};
    if (bind(server.fd, (struct sockaddr *)&any, sizeof any) < 0 || listen(server.fd, 16) < 0)
        return 1;
    struct steady run = steady_begin(argc, argv);
    while (steady_goes_on(&run))
        if (poll(&server, 1, (int)((run.end_s - now()) * 1000) + 1) > 0)
            close(accept(server.fd, NULL, NULL));
    steady_tell("served", steady_per_second(&run, 0));
    return 0;
}
