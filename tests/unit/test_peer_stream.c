/* Who is at the other end of a pipe, whose ends this process and its children have, and of a
 * socket. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "waits/peer_find.h"

enum { READ_END, WRITE_END };
enum { ROUNDS = 2 }; /* sockets, then their processes */
static const int64_t longest_look_ns = 5 * (int64_t)NS_PER_S;

static int in[2], out[2], ready[2]; /* this process reads IN and writes OUT */

/* A child that has nothing but the descriptors A and B of the pipes. */
static pid_t start_with(int a, int b)
{
    char byte;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        const int all[] = {in[READ_END], in[WRITE_END], out[READ_END], out[WRITE_END]};
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (all[i] != a && all[i] != b)
                close(all[i]);
        (void)!write(ready[WRITE_END], "r", 1);
        for (;;)
            (void)pause();
    }
    ck_assert_int_eq(read(ready[READ_END], &byte, 1), 1);
    return pid;
}

/* The other side of a wait of this process in CALL on FD, as a recording has it; OVER: of one that
 * has ended.  Its ids are of no profile. */
static struct wait_side side_of(int64_t call, int fd, bool over)
{
    struct profile *profile = profile_new(0);
    struct peer_looks looks = {.profile = profile};
    struct peer_answer answer = {0};
    uint64_t args[6] = {(uint64_t)fd};
    struct peer_wait wait = {.pid = getpid(),
                             .own_namespace = true,
                             .since_ns = 1,
                             .over = over,
                             .number = call,
                             .args = args,
                             .fd = (uint64_t)fd,
                             .flow = syscall_flow(call)};
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ck_assert_int_gt(readlink(path, wait.link, sizeof wait.link - 1), 0);
    peer_find_stream(&looks, &wait, &answer);
    ck_assert(answer.later);
    for (int i = 0; i < ROUNDS && answer.later; i++) {
        ck_assert(peer_looks_run(&looks, longest_look_ns));
        answer = (struct peer_answer){.later = false};
        peer_find_stream(&looks, &wait, &answer);
    }
    ck_assert(!answer.later);
    peer_looks_release(&looks);
    profile_free(profile);
    return answer.side;
}

/* The process that this one waits for in CALL on a pipe's FD; 0: none, or several. */
static pid_t waits_for(int64_t call, int fd)
{
    const struct wait_side side = side_of(call, fd, false);
    ck_assert_int_eq(side.thing, THING_PIPE);
    return side.blocker.kind == BLOCKER_PROCESS ? side.blocker.pid : 0;
}

START_TEST(the_other_end_of_a_pipe_is_who_is_waited_for)
{
    ck_assert_int_eq(pipe(in), 0);
    ck_assert_int_eq(pipe(out), 0);
    ck_assert_int_eq(pipe(ready), 0);
    pid_t feeds = start_with(in[WRITE_END], -1);
    pid_t eats = start_with(out[READ_END], -1);
    pid_t also = start_with(in[READ_END], out[WRITE_END]); /* where this one is */
    close(in[WRITE_END]);
    close(out[READ_END]);
    ck_assert_int_eq(waits_for(SYS_read, in[READ_END]), feeds);
    ck_assert_int_eq(waits_for(SYS_write, out[WRITE_END]), eats);
    ck_assert_int_eq(kill(feeds, SIGKILL), 0);
    ck_assert_int_eq(kill(eats, SIGKILL), 0);
    ck_assert_int_eq(kill(also, SIGKILL), 0);
}
END_TEST

/* Another program that has END of a pipe, and no more of it, as descriptor FD. */
static pid_t start_sleep(int end, int fd)
{
    char ready_byte;
    int began[2]; /* it closes when the program begins */
    ck_assert_int_eq(pipe2(began, O_CLOEXEC), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(end, fd);
        (void)execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    close(began[WRITE_END]);
    ck_assert_int_eq(read(began[READ_END], &ready_byte, 1), 0);
    close(began[READ_END]);
    return pid;
}

START_TEST(by_which_descriptor_another_program_has_it_is_known)
{
    enum { INHERITED = 40 };
    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    static const int cases[][2] = {{INHERITED, INHERITED}, {STDOUT_FILENO, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t pid = start_sleep(in[WRITE_END], cases[i][0]);
        const struct blocker b = side_of(SYS_read, in[READ_END], false).blocker;
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(b.pid, pid);
        ck_assert_uint_eq(b.fd, (uint64_t)cases[i][1]);
    }
    close(in[WRITE_END]);
}
END_TEST

/* A socket that is to be connected to AT, and does not wait for that. */
static int start_to_connect(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(fd, 0);
    (void)connect(fd, (const struct sockaddr *)at, sizeof *at);
    return fd;
}

/* The kernel drops the request of whoever comes when a listener's queue is full. */
START_TEST(a_recording_knows_a_socket_that_is_not_connected_yet)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(listen(listener, 0), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    int connected = start_to_connect(&at); /* it takes one all the same */
    int waits = start_to_connect(&at);
    const struct blocker b = side_of(SYS_sendto, waits, false).blocker;
    ck_assert_int_eq(b.kind, BLOCKER_PEER);
    ck_assert_int_eq(b.port, ntohs(at.sin_port));
    ck_assert_int_eq(b.queue, QUEUE_NOT_CONNECTED);
    ck_assert_int_eq(side_of(SYS_sendto, waits, true).blocker.queue, QUEUE_UNTOLD);
    ck_assert_int_eq(side_of(SYS_recvfrom, connected, false).blocker.queue, QUEUE_UNTOLD);
    ck_assert_int_eq(close(listener) | close(connected) | close(waits), 0);
}
END_TEST

CHECK_MAIN("peer_stream", 30, the_other_end_of_a_pipe_is_who_is_waited_for,
           by_which_descriptor_another_program_has_it_is_known,
           a_recording_knows_a_socket_that_is_not_connected_yet)
