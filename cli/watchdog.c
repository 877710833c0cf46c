#include "cli/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_use.h"
#include "base/own_stack.h"
#include "base/text.h"
#include "cli/exit_codes.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "sampler/launch.h"
#include "sampler/sampler.h"
#include "target/mount.h"
#include "target/proc.h"

enum {
    MOST_FORKS = 20, /* of one recording; each leaves a small process that waits */
    WAIT_MS = 1000,  /* for the end of the parent's threads */
    LOOK_MS = 50,
    MS_PER_S = 1000,
    LOOKS = 5,       /* in a row that find the same hold, and its reader asleep: 250 ms */
    LAST_LOOKS = 25, /* the same where nobody came to watchdog_has_left() */
    FILE_EVERY = 10, /* looks */
    END_LOOKS = 6,   /* the same for a read at the end: 3 s */
    FILE_LOOKS = 8,  /* of those, in a row that find a thread waiting for the same file: 4 s */
    HANG_LOOKS = 3,  /* the same for what dog.show is for: 1 s between the first and the last */
};

static const char waiter_option[] = "--wait-for";

/* One for the program, as its process is. */
static struct {
    struct sampler *_Atomic sampler; /* NULL: none yet */
    pid_t command;
    bool strict;
    int end_fd;
    pthread_t thread;
    bool started, is_child;
    int forks;      /* until this process */
    bool abandoned; /* the sampling, in this process */
    atomic_bool overdue, ending;
    _Atomic int64_t hold_ns;      /* the overdue hold: since when; 0: none */
    struct text why;              /* it is overdue */
    atomic_bool ended;            /* whether or not END_FD could be written to */
    int (*show)(const void *ctx); /* NULL: a hang is waited for */
    const void *show_ctx;
    int parent_fd; /* to the parent of watchdog_run_apart(); 0: there is none */
} dog;

/* Is thread TID of ours in one of STATES? */
static bool is_asleep(pid_t tid, const char *states)
{
    struct task_stat stat;
    return proc_stat(getpid(), tid, &stat) == 0 && strchr(states, stat.state);
}

/* Becomes the waiter for WRITER (0: there is none).  Every other thread ends with that. */
static _Noreturn void become_waiter(pid_t writer)
{
    char text[2][16];
    (void)snprintf(text[0], sizeof text[0], "%d", writer);
    (void)snprintf(text[1], sizeof text[1], "%d", dog.command);
    char name[] = "wallspy";
    char option[sizeof waiter_option];
    (void)snprintf(option, sizeof option, "%s", waiter_option);
    char strict[] = {dog.strict ? '1' : '0', '\0'};
    char *argv[] = {name, option, text[0], text[1], strict, NULL};
    (void)execv("/proc/self/exe", argv);
    _exit(EXIT_FAILED);
}

/* The recording's thread does not answer: the recording is lost, but the target goes on. */
static _Noreturn void give_up(void)
{
    terminal_error("a thread was held for more than a second, because reading memory took too "
                   "long: wallspy releases it, and the recording is lost.");
    become_waiter(0);
}

/* What thread TID of ours, which reads memory of the target, waits for, as the kernel says. */
static void add_wait(pid_t tid, struct text *out)
{
    char wchan[PROC_WCHAN_BYTES];
    proc_read_wchan(getpid(), tid, wchan);
    if (!*wchan)
        return;
    if (strstr(wchan, "userfault"))
        text_add(out, " (userfaultfd serves it)");
    else if (strstr(wchan, "folio_wait") || strstr(wchan, "wait_on_page"))
        text_add(out, " (a page comes from a file or from swap)");
    else
        text_addf(out, " (kernel: %s)", wchan);
}

static void be_overdue(struct sampler *s, pid_t tid, const char *what)
{
    if (!atomic_load(&dog.overdue)) {
        text_clear(&dog.why);
        text_add(&dog.why, what);
        add_wait(tid, &dog.why);
    }
    atomic_store(&dog.overdue, true);
    sampler_wake_worker(s);
}

/* A hold that lasts. */
static void look_at_hold(void)
{
    static int64_t seen_ns;
    static int looks;
    struct sampler *s = atomic_load(&dog.sampler);
    pid_t tid = 0;
    int64_t since_ns = s ? sampler_holding_since_ns(s, &tid) : 0;
    looks = since_ns && since_ns == seen_ns && is_asleep(tid, "DS") ? looks + 1 : 0;
    seen_ns = since_ns;
    if (looks >= LOOKS) {
        atomic_store(&dog.hold_ns, since_ns);
        be_overdue(s, tid, "a thread was held for 0.25 s, because reading memory took too long");
    }
    if (looks >= LAST_LOOKS)
        give_up();
}

/* At the end of the recording wallspy does not wait for memory of the target that does not arrive,
 * also while no thread is held. */
static void look_at_end(void)
{
    static int looks;
    struct syscall_state call = {.number = -1};
    pid_t tid = 0;
    struct sampler *s = atomic_load(&dog.ending) ? atomic_load(&dog.sampler) : NULL;
    if (s)
        (void)sampler_holding_since_ns(s, &tid);
    bool reads = tid && proc_syscall(getpid(), tid, &call) == 0 &&
                 (call.number == SYS_process_vm_readv || call.number == SYS_pread64);
    looks = reads ? looks + 1 : 0;
    if (looks >= (dog.show ? HANG_LOOKS - 1 : END_LOOKS))
        be_overdue(s, tid, "memory of a process was not read in time");
}

static void print_server(const char *path)
{
    struct text where = {0};
    struct text tame = {0};
    text_add_tame(&tame, path, strlen(path));
    bool known = mount_describe(path, &where);
    terminal_warn(
        "%s has not answered for %d s: wallspy waits for it (%s%s). Ctrl-C three times ends "
        "wallspy.",
        tame.s, FILE_LOOKS * FILE_EVERY * LOOK_MS / MS_PER_S,
        known ? "" : "its file system is unknown", known ? where.s : "");
    text_release(&tame);
    text_release(&where);
}

/* The file of each of our threads, by its place in base/file_use.h, and in how many looks in a row
 * the thread waited for it. */
static struct waited_file {
    struct file_use use;
    int looks;
} files[FILE_USE_THREADS];

/* A thread waits for a file that it opens, or whose pages it has mapped, which shows as an
 * uninterruptible wait alone. */
static void read_files(void)
{
    for (int i = 0; i < FILE_USE_THREADS; i++) {
        struct file_use use = file_use_get(i);
        bool waits = use.tid && *use.path && use.count == files[i].use.count &&
                     is_asleep(use.tid, use.opening ? "DS" : "D");
        files[i].looks = waits ? files[i].looks + 1 : 0;
        files[i].use = use;
    }
}

/* In how many looks in a row the main thread waited for what no signal interrupts, as memory of a
 * process, and had not run since the one before.  look_at_end() sees to the sampler's reads. */
static int main_looks;

static void read_main(void)
{
    static uint64_t runs;
    struct schedstat now = {0};
    bool same = proc_schedstat(getpid(), getpid(), &now) == 0 && now.runs && now.runs == runs;
    runs = now.runs;
    main_looks = same && is_asleep(getpid(), "D") ? main_looks + 1 : 0;
}

static void print_memory(void)
{
    struct text why = {0};
    text_add(&why, "");
    add_wait(getpid(), &why);
    terminal_warn("memory of a process has not been read for %d s: wallspy waits for it%s. Ctrl-C "
                  "three times ends wallspy.",
                  FILE_LOOKS * FILE_EVERY * LOOK_MS / MS_PER_S, why.s);
    text_release(&why);
}

/* Returns whether the main thread, which handles signals, waits for a file or for memory. */
static bool look_at_files(void)
{
    bool main_waits = false;
    for (int i = 0; i < FILE_USE_THREADS; i++) {
        if (files[i].looks == FILE_LOOKS)
            print_server(files[i].use.path);
        main_waits |= files[i].looks && files[i].use.tid == getpid();
    }
    if (!main_waits && main_looks == FILE_LOOKS)
        print_memory();
    return main_waits || main_looks;
}

/* ---- where nobody waits for a hang ---- */

/* FILE NULL: it is memory that the main thread waits for. */
static void tell_hang(const struct waited_file *file)
{
    struct text what = {0};
    text_add(&what, "");
    if (file) {
        text_add_tame(&what, file->use.path, strlen(file->use.path));
        text_add(&what, " (");
        if (!mount_describe(file->use.path, &what))
            text_add(&what, "its file system is unknown");
        text_add(&what, ")");
    } else {
        text_add(&what, "memory of the process");
        add_wait(getpid(), &what);
    }
    terminal_warn("%s has not been read for a second. This is what /proc says without it.", what.s);
    text_release(&what);
}

/* Who reads what this process has written waits until nobody has its end. */
static _Noreturn void leave(int code)
{
    unsigned char byte = (unsigned char)code;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)close(fd);
    if (dog.parent_fd)
        (void)!write(dog.parent_fd, &byte, sizeof byte);
    _exit(code);
}

static void look_at_hang(void)
{
    int i = 0;
    while (i < FILE_USE_THREADS && files[i].looks < HANG_LOOKS - 1)
        i++;
    if (main_looks < HANG_LOOKS - 1 && i == FILE_USE_THREADS)
        return;
    tell_hang(i < FILE_USE_THREADS ? &files[i] : NULL);
    leave(dog.show(dog.show_ctx));
}

static void *watch(void *unused)
{
    struct pollfd end = {.fd = dog.end_fd, .events = POLLIN};
    bool main_waits = false;
    for (int n = 0; poll(&end, 1, LOOK_MS) <= 0 && !atomic_load(&dog.ended); n++) {
        look_at_hold();
        if (n % FILE_EVERY == 0) {
            read_files();
            read_main();
            if (dog.show)
                look_at_hang();
            main_waits = look_at_files();
            look_at_end();
        }
        if (main_waits)
            signals_handle_here();
    }
    return unused;
}

void watchdog_start(void)
{
    sigset_t all;
    sigset_t old;
    dog.end_fd = eventfd(0, EFD_CLOEXEC);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    dog.started =
        dog.end_fd >= 0 && own_stack_thread(&dog.thread, STACK_LEAST_BYTES, watch, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void watchdog_on_hang(int (*show)(const void *ctx), const void *ctx)
{
    dog.show = show;
    dog.show_ctx = ctx;
}

void watchdog_watch(struct sampler *s, pid_t command, bool strict)
{
    dog.command = command;
    dog.strict = strict;
    atomic_store(&dog.sampler, s);
}

void watchdog_end(void)
{
    atomic_store(&dog.ended, true);
    if (dog.started) {
        (void)!write(dog.end_fd, &(uint64_t){1}, sizeof(uint64_t));
        (void)pthread_join(dog.thread, NULL);
    }
    if (dog.end_fd > 0)
        close(dog.end_fd);
    dog.end_fd = 0;
    dog.started = false;
}

void watchdog_expect_end(void)
{
    atomic_store(&dog.ending, true);
}

/* The worker may have come late. */
static bool is_over(void)
{
    pid_t tid;
    int64_t hold_ns = atomic_load(&dog.hold_ns);
    if (!hold_ns || hold_ns == sampler_holding_since_ns(atomic_load(&dog.sampler), &tid))
        return false;
    atomic_store(&dog.hold_ns, 0);
    atomic_store(&dog.overdue, false);
    return true;
}

/* The parent's threads end, and let go what they hold, when it becomes the waiter: that closes the
 * other end of FD. */
static void await_parent(int fd)
{
    struct pollfd end = {.fd = fd};
    (void)poll(&end, 1, WAIT_MS);
    (void)close(fd);
}

/* In the child: samples on, if that can be. */
static bool goes_on(void)
{
    int64_t ns = 0;
    bool last = dog.forks == MOST_FORKS || atomic_load(&dog.ending);
    pid_t alone = last ? 0 : sampler_go_on(atomic_load(&dog.sampler), &ns);
    if (alone)
        terminal_warn("%s: process %d is left alone for %d s, and sampling goes on.", dog.why.s,
                      alone, (int)(ns / NS_PER_S));
    else
        terminal_warn("sampling ended: %s; what was sampled is written.", dog.why.s);
    return alone != 0;
}

/* Who ends the waiter wants no recording. */
static void begin_anew(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    close(dog.end_fd);
    dog.command = 0; /* the first waiter's */
    atomic_store(&dog.hold_ns, 0);
    atomic_store(&dog.overdue, false);
    watchdog_start();
}

bool watchdog_has_left(void)
{
    int fds[2];
    if (!atomic_load(&dog.overdue) || is_over() || dog.abandoned)
        return false;
    if (pipe2(fds, O_CLOEXEC) < 0)
        fds[0] = fds[1] = -1; /* then the child waits a little longer */
    (void)fflush(NULL);       /* once, not twice */
    pid_t writer = fork();
    if (writer < 0)
        give_up();
    if (writer > 0)
        become_waiter(writer);
    (void)close(fds[1]);
    await_parent(fds[0]);
    dog.started = false;
    dog.is_child = true;
    dog.forks++;
    dog.abandoned = !goes_on();
    if (!dog.abandoned)
        begin_anew();
    return dog.abandoned;
}

bool watchdog_is_child(void)
{
    return dog.is_child;
}

/* ---- the parent that waits for no hang ---- */

static pid_t fork_apart(int fds[2])
{
    pid_t parent = getpid();
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    pid_t child = fork();
    (void)close(fds[child == 0 ? 0 : 1]);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(EXIT_FAILED);
    } else if (child < 0) {
        (void)close(fds[0]);
    }
    return child;
}

/* Ends as CHILD does; a core is that of the child alone. */
static int end_as(pid_t child)
{
    int status = 0;
    if (launch_wait(child, &status) < 0)
        return EXIT_FAILED;
    if (WIFSIGNALED(status)) {
        (void)prctl(PR_SET_DUMPABLE, 0);
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
    }
    return launch_exit_code(status);
}

int watchdog_run_apart(int (*body)(const void *ctx), const void *ctx)
{
    int fds[2];
    unsigned char code;
    pid_t child = fork_apart(fds);
    if (child == 0)
        dog.parent_fd = fds[1];
    if (child <= 0)
        return body(ctx);
    struct pollfd ends[] = {{.fd = fds[0], .events = POLLIN},
                            {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN}};
    while (poll(ends, sizeof ends / sizeof *ends, -1) < 0 && errno == EINTR)
        ;
    bool shown = read(fds[0], &code, sizeof code) == sizeof code;
    return shown ? code : end_as(child);
}

/* ---- the waiter ---- */

enum { WRITER = 2, COMMAND, STRICT, ARGUMENTS };

static volatile pid_t the_writer, the_command;

/* To the command while it runs, as signals.c does.  The terminal's reach them by themselves, and
 * what the receiver sent does not go back to it. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    pid_t to = signals_is_running(the_command) ? the_command : the_writer;
    if (info->si_code <= 0 && to > 0 && info->si_pid != to)
        (void)kill(to, number);
    errno = saved;
}

/* The thread that executed it may have had all blocked, and SIGTSTP was. */
static void take_signals(void)
{
    static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigset_t none;
    sigemptyset(&none);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sigaction(numbers[i], &action, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static pid_t pid_of(const char *text)
{
    int64_t pid = 0;
    return parse_whole_i64(text, 1, INT32_MAX, &pid) == 0 ? (pid_t)pid : 0;
}

bool watchdog_is_waiter(int argc, char **argv)
{
    return argc == ARGUMENTS && str_eq(argv[1], waiter_option);
}

int watchdog_wait(char **argv)
{
    pid_t command = the_command = pid_of(argv[COMMAND]);
    int status = 0;
    the_writer = pid_of(argv[WRITER]);
    take_signals();
    int code = EXIT_FAILED;
    if (the_writer && launch_wait(the_writer, &status) == 0)
        code = launch_exit_code(status);
    the_writer = 0;
    if (!command || launch_wait(command, &status) < 0)
        return code;
    return code != EXIT_OK && *argv[STRICT] == '1' ? EXIT_STRICT_FAILED : launch_exit_code(status);
}
