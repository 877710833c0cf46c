/* Clients that ask, that do not, and that ask too much. */
#include "cli/ctl_server.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/ctl_folder.h"
#include "tests/support/check_main.h"

enum { CLIENTS = 8, FOREVER_MS = 10000 };
static char folder[] = "/tmp/wallspy-ctl-XXXXXX";
static struct ctl_server *server;
static uint64_t put_off; /* the last client that waits */
static int obeyed;

static void enter(void)
{
    struct err err = {0};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(setenv("WALLSPY_CTL_DIR", folder, 1), 0);
    server = ctl_server_open(&err);
    ck_assert_msg(server != NULL, "%s", err.text);
}

/* The folder must be empty, which a socket that was left would show. */
static void leave(void)
{
    server = ctl_server_free(server);
    ck_assert_int_eq(rmdir(folder), 0);
}

static bool obey(void *ctx, uint64_t client, const struct ctl_request *request,
                 struct ctl_answer *ret)
{
    ck_assert_ptr_eq(ctx, &obeyed);
    obeyed++;
    if (request->verb == CTL_STOP) {
        put_off = client;
        return false;
    }
    if (request->verb == CTL_STATUS)
        for (int i = 0; i < 100000; i++) /* more than a socket takes */
            text_add(&ret->lines, "more: than a socket takes\n");
    if (request->verb == CTL_MARK)
        text_addf(&ret->lines, "mark: %s\n", request->text);
    return true;
}

static void serve(void)
{
    ctl_server_serve(server, obey, &obeyed);
}

static int ask(const char *bytes, size_t len)
{
    struct err err;
    int dir = ctl_folder_open(folder, false, &err);
    int fd = ctl_connect(dir, getpid());
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
    close(dir);
    serve(); /* takes it */
    serve(); /* reads it */
    return fd;
}

/* All that comes, until the server hangs up; served meanwhile. */
static char *answer_of(int fd)
{
    struct text all = {0};
    char bytes[4096];
    ssize_t n;
    text_add(&all, "");
    for (int i = 0; i < FOREVER_MS; i++) {
        while ((n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
            text_add_bytes(&all, bytes, (size_t)n);
        if (n == 0 || errno == ECONNRESET)
            break;
        serve();
        (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1);
    }
    close(fd);
    return all.s;
}

static void assert_answer(int fd, const char *wanted)
{
    char *said = answer_of(fd);
    ck_assert_str_eq(said, wanted);
    free(said);
}

static void assert_asks(const char *line, const char *wanted)
{
    assert_answer(ask(line, strlen(line)), wanted);
}

START_TEST(a_line_has_an_answer)
{
    assert_asks("mark a b\n", "mark: a b\nok\n");
    assert_asks("brief\nignored\n", "ok\n");
    assert_asks("nonsense\n",
                "error: not one of status, snapshot, mark TEXT, pause, resume, stop\n");
    ck_assert_int_eq(obeyed, 2);
    int fd = ask("mark end", 8);
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0); /* that ends the line, too */
    assert_answer(fd, "mark: end\nok\n");
    fd = ask("ma", 2);
    ck_assert_int_eq(send(fd, "rk x\n", 5, 0), 5);
    assert_answer(fd, "mark: x\nok\n");
}
END_TEST

START_TEST(an_answer_may_be_long_and_may_come_late)
{
    char *said = answer_of(ask("status\n", 7));
    ck_assert_uint_eq(strlen(said), 100000 * strlen("more: than a socket takes\n") + 3);
    free(said);
    int fd = ask("stop\n", 5);
    serve();
    char byte;
    ck_assert(recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    struct ctl_answer a = {.error = "no"};
    ctl_server_answer(server, put_off + 1, &a); /* nobody's */
    ctl_server_answer(server, put_off, &a);
    assert_answer(fd, "error: no\n");
}
END_TEST

START_TEST(a_line_has_an_end)
{
    char line[CTL_LINE_BYTES + 1];
    memset(line, 'x', sizeof line);
    assert_answer(ask(line, CTL_LINE_BYTES), "error: a line of more than 4095 bytes\n");
    line[CTL_LINE_BYTES - 1] = '\n';
    assert_answer(ask(line, CTL_LINE_BYTES),
                  "error: not one of status, snapshot, mark TEXT, pause, resume, stop\n");
    assert_answer(ask("stop\0\n", 6),
                  "error: not one of status, snapshot, mark TEXT, pause, resume, stop\n");
    ck_assert_int_eq(obeyed, 0);
}
END_TEST

/* Who does not ask is hung up on after a second, and until then others have their place. */
START_TEST(who_does_not_ask_is_hung_up_on)
{
    int silent[CLIENTS];
    int64_t begun_ns = clock_now_ns();
    for (int i = 0; i < CLIENTS; i++)
        silent[i] = ask("", 0);
    char *said = answer_of(ask("brief\n", 6));
    int64_t served_ns = clock_now_ns() - begun_ns;
    if (served_ns < NS_PER_S) /* else the first of them has gone */
        ck_assert_str_eq(said, "error: too many ask at a time\n");
    free(said);
    for (int i = 0; i < CLIENTS; i++)
        assert_answer(silent[i], "");
    ck_assert_int_ge(clock_now_ns() - begun_ns, NS_PER_S - served_ns);
    assert_asks("brief\n", "ok\n");
}
END_TEST

START_TEST(who_leaves_gives_its_place)
{
    for (int i = 0; i < 3 * CLIENTS; i++)
        close(ask(i % 2 ? "stop\n" : "", i % 2 ? 5 : 0));
    serve();
    assert_asks("brief\n", "ok\n");
}
END_TEST

/* wallspy must not wake for a client for whom it has no descriptor. */
START_TEST(without_a_descriptor_it_rests)
{
    struct err err;
    struct rlimit all;
    int dir = ctl_folder_open(folder, false, &err);
    int fd = ctl_connect(dir, getpid());
    ck_assert_int_eq(send(fd, "brief\n", 6, MSG_NOSIGNAL), 6);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, all.rlim_max}), 0);
    serve();
    struct pollfd ready = {.fd = ctl_server_fd(server), .events = POLLIN};
    ck_assert_int_eq(poll(&ready, 1, 0), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
    assert_answer(fd, "ok\n");
    close(dir);
}
END_TEST

START_TEST(at_the_end_who_waits_is_answered_and_who_does_not_is_not)
{
    int stops = ask("stop\n", 5);
    int asks = ask("", 0);
    ctl_server_shut(server);
    assert_answer(asks, "");
    serve();
    struct ctl_answer a = {.error = ""};
    text_add(&a.lines, "/a.json\n");
    ctl_server_answer(server, put_off, &a);
    assert_answer(stops, "/a.json\nok\n");
}
END_TEST

CHECK_MAIN_WITH("ctl_server", 30, enter, leave, a_line_has_an_answer,
                an_answer_may_be_long_and_may_come_late, a_line_has_an_end,
                who_does_not_ask_is_hung_up_on, who_leaves_gives_its_place,
                without_a_descriptor_it_rests,
                at_the_end_who_waits_is_answered_and_who_does_not_is_not)
