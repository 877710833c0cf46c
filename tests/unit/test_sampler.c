#include "sampler/sampler.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/message.h"
#include "tests/support/check_main.h"

enum { WORD = 42 };

static void hook_tick(void *ctx, struct mem *live)
{
    (void)ctx, (void)live;
}

static uint32_t hook_capture(void *ctx, struct mem *recording, pid_t ns_tid, uint64_t fs_base,
                             uint64_t *annex, bool *ret_incomplete)
{
    (void)ctx, (void)recording, (void)ns_tid, (void)fs_base, (void)ret_incomplete;
    annex[0] = WORD;
    return 1;
}

static void hook_undo(void *ctx)
{
    (void)ctx;
}

static bool hook_is_python(void *ctx, pid_t ns_tid)
{
    (void)ctx, (void)ns_tid;
    return true;
}

static pid_t blocked_child(void)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        for (;;)
            (void)pause();
    return pid;
}

/* Takes all samples that come within TIMEOUT_MS of each other.  Returns the last one's hook words, -1: none. */
static int last_sample(struct sampler *s, int timeout_ms)
{
    struct pollfd fd = {sampler_fd(s), POLLIN, 0};
    int words = -1;
    size_t bytes;
    while (poll(&fd, 1, timeout_ms) > 0) {
        sampler_drain(s);
        for (const struct message *m; (m = ring_peek(sampler_ring(s), &bytes));) {
            if (m->kind == MESSAGE_SAMPLE)
                words = (int)((const struct sample_message *)m)->snapshot.annex_words;
            ring_release(sampler_ring(s));
        }
    }
    return words;
}

START_TEST(blocked_thread_is_read_again_for_a_new_hook)
{
    static const struct sampler_config config = {.rate_hz = 1000, .max_held = 1};
    static const struct capture_hook hook = {NULL, hook_tick, hook_capture, hook_undo,
                                             hook_is_python};
    struct err err = {0};
    struct mem *live;
    pid_t pid = blocked_child();
    ck_assert_int_eq(mem_live_open(&live, pid, &err), 0);
    struct sampler *s = sampler_new(&config);
    ck_assert_int_eq(sampler_add(s, pid, live, &err), 0);
    ck_assert_int_eq(sampler_start(s, &err), 0);
    ck_assert_int_eq(last_sample(s, 200), 0);
    ck_assert_int_eq(last_sample(s, 100), -1);
    sampler_set_hook(s, 0, &hook);
    ck_assert_int_eq(last_sample(s, 200), 1);
    ck_assert_int_eq(last_sample(s, 100), -1);
    sampler_free(s);
    mem_free(live);
    ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    (void)kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

CHECK_MAIN("sampler", 10, blocked_thread_is_read_again_for_a_new_hook)
