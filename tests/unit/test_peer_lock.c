/* Who has a file lock whose taker has ended.  A container does not list such locks. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "waits/peer_find.h"

static const int64_t longest_look_ns = 5 * (int64_t)NS_PER_S;

/* A child takes the lock of the file at PATH and ends; its own child, which is returned, has the
 * descriptor. */
static pid_t inherit_lock(const char *path)
{
    int told[2];
    pid_t heir = 0;
    ck_assert_int_eq(pipe(told), 0);
    pid_t taker = fork();
    if (taker == 0) {
        int fd = open(path, O_RDWR);
        heir = flock(fd, LOCK_EX) == 0 ? fork() : -1;
        while (heir == 0)
            (void)pause();
        (void)!write(told[1], &heir, sizeof heir);
        _exit(0);
    }
    ck_assert_int_eq(read(told[0], &heir, sizeof heir), sizeof heir);
    ck_assert_int_eq(waitpid(taker, NULL, 0), taker);
    ck_assert_int_gt(heir, 0);
    return heir;
}

/* ANSWER is what flock(FD) waits for.  Returns whether all processes were looked at. */
static bool look(int fd, bool over, struct peer_answer *answer)
{
    struct profile *profile = profile_new(0);
    struct peer_looks looks = {.profile = profile};
    const uint64_t args[6] = {(uint64_t)fd, LOCK_EX};
    struct peer_wait wait = {.pid = getpid(),
                             .own_namespace = true,
                             .since_ns = 1,
                             .over = over,
                             .number = SYS_flock,
                             .args = args,
                             .fd = (uint64_t)fd};
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ck_assert_int_gt(readlink(path, wait.link, sizeof wait.link - 1), 0);
    *answer = (struct peer_answer){.later = false};
    peer_find_lock(&looks, &wait, answer);
    bool later = answer->later;
    if (later) {
        ck_assert(peer_looks_run(&looks, longest_look_ns));
        *answer = (struct peer_answer){.later = false};
        peer_find_lock(&looks, &wait, answer);
    }
    ck_assert(!answer->later);
    ck_assert_int_eq(answer->side.thing, THING_FILE_LOCK);
    peer_looks_release(&looks);
    profile_free(profile);
    return later;
}

static void find_heir(void)
{
    char path[] = "/tmp/test_peer_lock_XXXXXX";
    struct peer_answer answer;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    pid_t heir = inherit_lock(path);
    (void)unlink(path);
    ck_assert(look(fd, false, &answer));
    ck_assert_int_eq(answer.side.blocker.kind, BLOCKER_PROCESS);
    ck_assert_int_eq(answer.side.blocker.pid, heir);
    ck_assert_int_eq(kill(heir, SIGKILL), 0);
    ck_assert_int_eq(waitpid(heir, NULL, 0), heir);
    ck_assert(!look(fd, true, &answer)); /* nobody has it, and nobody waits */
    ck_assert_int_eq(answer.side.blocker.kind, BLOCKER_UNKNOWN);
}

/* A shell's ( flock 9; work ) 9>lock. */
START_TEST(a_lock_whose_taker_has_ended_is_its_heirs)
{
    int status = 0;
    int flags = CLONE_NEWPID | CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0);
    if (check_skips(unshare(flags) < 0, "no namespace of pids"))
        return;
    pid_t first = fork();
    if (first == 0) {
        (void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        if (mount("proc", "/proc", "proc", 0, NULL) < 0)
            _exit(2);
        find_heir();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(first, &status, 0), first);
    ck_assert(WIFEXITED(status));
    if (check_skips(WEXITSTATUS(status) == 2, "no /proc of one's own"))
        return;
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

CHECK_MAIN("peer_lock", 30, a_lock_whose_taker_has_ended_is_its_heirs)
