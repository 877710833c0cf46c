#include "cli/signals.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static const int handled_attached[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
static const int handled_launched[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                       SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

/* The two come within microseconds, unless their sender loses its CPU in between. */
enum { TWIN_NS = 20 * NS_PER_MS };
/* A signal after that is a second request, also if the first was not handled: wallspy may hang. */
enum { UNHEARD_NS = 200 * NS_PER_MS };

/* Global, because signal handlers get no context. */
static struct {
    int wake_fd;
    bool launched;
    bool leads_session;
    _Atomic pid_t command;
    atomic_int ctrl_c; /* while the command runs: it gets them too */
    atomic_int asked;  /* to stop, when there is no running command to ask */
    atomic_bool snapshot;
    int64_t last_ns; /* when the last request came; the handler's own */
    atomic_bool heard;
} state = {.wake_fd = -1};

static const int *handled(size_t *ret_n)
{
    *ret_n = state.launched ? sizeof handled_launched / sizeof *handled_launched
                            : sizeof handled_attached / sizeof *handled_attached;
    return state.launched ? handled_launched : handled_attached;
}

static void handled_set(sigset_t *ret)
{
    size_t n = 0;
    const int *numbers = handled(&n);
    sigemptyset(ret);
    for (size_t i = 0; i < n; i++)
        sigaddset(ret, numbers[i]);
}

/* The kernel's own signals (si_code > 0: the terminal's keys, its new size) reach the command's
 * process group by themselves, but a hang-up reaches the leader of the session only.  A signal that
 * the command sent must not go back to it. */
static void forward(int number, const siginfo_t *info, pid_t command)
{
    bool hangup = number == SIGHUP && info->si_code > 0 && state.leads_session;
    if (hangup || (info->si_code <= 0 && info->si_pid != command))
        (void)kill(command, number);
    else if (info->si_code > 0 && number == SIGINT)
        state.ctrl_c++;
}

/* The command may have ended before we heard of it.  waitid(2) for ends alone reports a stop all
 * the same while the sampler holds the command (kernel/exit.c, wait_task_stopped: "regardless of
 * options"). */
bool signals_is_running(pid_t command)
{
    siginfo_t end = {0};
    return command > 0 && waitid(P_PID, (id_t)command, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           (!end.si_pid || end.si_code == CLD_TRAPPED || end.si_code == CLD_STOPPED);
}

/* One act of a user's may send several signals: timeout(1) signals its child and then the group of
 * both, sudo forwards what wallspy has got already, a shell hangs up its jobs before the kernel
 * does, and systemd sends SIGTERM and SIGHUP.  A user who asks a second time has read that wallspy
 * stops, and whose terminal is gone reads nothing. */
static bool is_twin(int number)
{
    int64_t now_ns = clock_now_ns();
    bool soon = !state.heard && now_ns - state.last_ns < UNHEARD_NS;
    state.last_ns = now_ns;
    return state.asked && (soon || number == SIGHUP);
}

/* The shell of a script lets every command that it starts with `&` ignore SIGINT, but SIGINT is
 * how an attached recording ends. */
static bool stays_ignored(int number)
{
    struct sigaction before;
    bool ignored = sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
    return ignored && (number != SIGINT || state.launched);
}

static void handle(int number, const struct sigaction *action)
{
    if (!stays_ignored(number))
        (void)sigaction(number, action, NULL);
}

/* Asked twice: where something hangs, the next signal ends wallspy, if the kernel lets it. */
static void ask_to_stop(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const struct sigaction action = {.sa_handler = SIG_DFL};
    if (++state.asked < 2)
        return;
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        handle(numbers[n], &action);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    pid_t command = state.command;
    if (signals_is_running(command))
        forward(number, info, command);
    else if (command > 0 && number == SIGINT && info->si_code > 0 && !state.ctrl_c)
        state.ctrl_c++; /* it was the command's, which has died of it already */
    else if (number == SIGUSR1)
        state.snapshot = true;
    else if ((number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) &&
             !is_twin(number))
        ask_to_stop();
    (void)!write(state.wake_fd, &(uint64_t){1}, sizeof(uint64_t));
    errno = saved;
}

static void ignore(int number)
{
    (void)number;
}

void signals_open(bool launched)
{
    state.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    state.launched = launched;
    state.leads_session = getsid(0) == getpid();
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    size_t n = 0;
    const int *numbers = handled(&n);
    handled_set(&action.sa_mask); /* one at a time */
    for (size_t i = 0; i < n; i++)
        handle(numbers[i], &action);
    /* A handler, not SIG_IGN, which the command would inherit. */
    struct sigaction nothing = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    sigemptyset(&nothing.sa_mask);
    handle(SIGPIPE, &nothing);
    handle(SIGXFSZ, &nothing);
}

void signals_end_at_once(void)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < sizeof handled_attached / sizeof *handled_attached; i++)
        handle(handled_attached[i], &action);
}

void signals_let_broken_pipe_end(void)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};
    handle(SIGPIPE, &action);
}

void signals_block(sigset_t *ret_old)
{
    sigset_t set;
    handled_set(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, ret_old);
}

void signals_restore(const sigset_t *old)
{
    (void)pthread_sigmask(SIG_SETMASK, old, NULL);
}

static void terminal_stops(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGTSTP);
    sigaddset(ret, SIGTTIN);
    sigaddset(ret, SIGTTOU);
}

void signals_block_terminal_stop(void)
{
    sigset_t set;
    terminal_stops(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void signals_let_terminal_stop(void)
{
    sigset_t set;
    terminal_stops(&set);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void signals_stop_as_terminal_asks(void)
{
    (void)raise(SIGTSTP); /* pending beside one that came meanwhile: SIGCONT takes both away */
    signals_let_terminal_stop();
    signals_block_terminal_stop();
}

bool signals_take_terminal_stop(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    return sigtimedwait(&set, NULL, &(struct timespec){0}) == SIGTSTP;
}

void signals_set_command(pid_t pid)
{
    state.command = pid;
}

int signals_fd(void)
{
    return state.wake_fd;
}

void signals_drain(void)
{
    uint64_t count = 0;
    (void)!read(state.wake_fd, &count, sizeof count);
}

void signals_wait(int64_t timeout_ns)
{
    struct pollfd fd = {.fd = state.wake_fd, .events = POLLIN};
    struct timespec timeout = {.tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S};
    if (ppoll(&fd, 1, &timeout, NULL) > 0)
        signals_drain();
}

void signals_handle_here(void)
{
    sigset_t set;
    sigset_t old;
    handled_set(&set);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, &old);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void signals_ask_to_stop(void)
{
    sigset_t old;
    signals_block(&old);
    if (!state.asked)
        ask_to_stop();
    signals_restore(&old);
}

bool signals_hear_stop(void)
{
    if (state.heard || !signals_stop_wanted())
        return false;
    signals_drain();
    signals_wait(TWIN_NS);
    state.heard = true;
    return true;
}

bool signals_stop_wanted(void)
{
    return state.asked > 0 || state.ctrl_c > 1;
}

bool signals_discard_wanted(void)
{
    return state.asked > 1;
}

bool signals_take_snapshot(void)
{
    return atomic_exchange(&state.snapshot, false);
}
