#include "cli/sink_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/output.h"
#include "recording/recording_file.h"
#include "recording/store.h"
#include "target/mount.h"

enum {
    PIPE_BYTES = 1 << 20,
    PART_BYTES = 1 << 16, /* that are read at once */
    RESERVE_BYTES = 8 << 20,
    NICE = 10,
    IOPRIO_WHO_PROCESS = 1, /* linux/ioprio.h, which some systems lack */
    IOPRIO_IDLE = 3 << 13,
};

struct writer {
    int in, out;
    struct output_target target;
    char *part;  /* its name while it grows */
    int fd;      /* that file: holds the lock that says that it grows */
    int reserve; /* of the disk, so that a file that is full can be ended; −1: none */
    struct store *store;
    bool ended;
};

/* ---- answers ---- */

static void answer(const struct writer *w, enum sink_answer_kind kind, int64_t number, int error,
                   const char *words)
{
    struct sink_answer a;
    memset(&a, 0, sizeof a);
    a.kind = kind;
    a.error = error;
    a.number = number;
    (void)snprintf(a.words, sizeof a.words, "%s", words);
    (void)!write(w->out, &a, sizeof a); /* nobody may be there any more */
}

/* ---- the file ---- */

static const char *const followers[] = {"-wal", "-shm", "-journal"};

/* What SQLite keeps beside PATH is of a file that was there before. */
static void remove_followers(const char *path)
{
    for (size_t i = 0; i < sizeof followers / sizeof *followers; i++) {
        char *name = xasprintf("%s%s", path, followers[i]);
        (void)unlink(name);
        free(name);
    }
}

/* Nothing was recorded yet. */
static void remove_part(const struct writer *w)
{
    remove_followers(w->part);
    (void)unlink(w->part);
}

/* What a killed one left is the user's to replace, as the file itself is. */
static int remove_left(const char *part)
{
    unsigned mode;
    if (access(part, F_OK) != 0)
        return 0;
    if (!output_is_own_file(part, &mode))
        return -EEXIST;
    if (recording_part_grows(part))
        return -EBUSY;
    remove_followers(part);
    return unlink(part) == 0 ? 0 : -errno;
}

/* On a file system of another machine or program processes share no memory, which -wal needs. */
static enum store_journal journal_for(const char *part)
{
    struct mounts mounts = {0};
    char *full = realpath(part, NULL);
    const struct mount *m = full ? mounts_of(&mounts, getpid(), full) : NULL;
    enum store_journal journal = m && !mount_is_served(m) ? STORE_WAL : STORE_NO_WAL;
    mounts_release(&mounts);
    free(full);
    return journal;
}

/* It has no name, so that none is left. */
static int reserve_room(const char *part)
{
    char *name = xasprintf("%s-reserve", part);
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)unlink(name);
    if (fd >= 0 && fallocate(fd, 0, 0, RESERVE_BYTES) != 0) {
        close(fd);
        fd = -1;
    }
    free(name);
    return fd;
}

static void give_reserve_back(struct writer *w)
{
    if (w->reserve >= 0)
        close(w->reserve);
    w->reserve = -1;
}

static _Noreturn void fail(struct writer *w, int64_t end_ns, int error, const char *words)
{
    answer(w, SINK_FAILED, end_ns, error, words);
    _exit(EXIT_FAILURE);
}

/* SQLite opens no path with a link in it (SQLITE_OPEN_NOFOLLOW, of a folder since 3.39). */
static void resolve(char **path)
{
    char *real = realpath(*path, NULL);
    if (!real)
        return;
    free(*path);
    *path = real;
}

/* A lock says that it grows.  On NFS that would be one that keeps SQLite from its own: there SQLite
 * has the whole file locked, which says the same. */
static int create(struct writer *w, enum store_journal *ret)
{
    int error = remove_left(w->part);
    if (error < 0)
        return error;
    w->fd = open(w->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (w->fd < 0)
        return -errno;
    resolve(&w->part);
    output_give_to_user(w->fd, w->part); /* also if it stays as it is */
    *ret = journal_for(w->part);
    return *ret == STORE_NO_WAL || flock(w->fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
}

static void open_file(struct writer *w, struct entry *e)
{
    struct entry_value path;
    struct entry_value is_new;
    struct err err = {0};
    if (w->part || !entry_next(e, &path) || !entry_next(e, &is_new) || path.type != ENTRY_STRING)
        fail(w, 0, -EPROTO, "its name did not come");
    w->target = (struct output_target){.path = xasprintf("%.*s", (int)path.len, path.s),
                                       .descriptor = -1,
                                       .is_new = is_new.number != 0};
    output_note_before(&w->target);
    w->part = xasprintf("%s%s", w->target.path, recording_part_suffix);
    enum store_journal journal = STORE_NO_WAL;
    int error = create(w, &journal);
    if (error < 0)
        fail(w, 0, error, error == -EBUSY ? "another wallspy writes it" : strerror(-error));
    w->reserve = reserve_room(w->part);
    w->store = store_open(w->part, journal);
    error = store_error(w->store, &err);
    if (error < 0) {
        remove_part(w);
        fail(w, 0, error, err.text);
    }
    answer(w, SINK_OPENED, 0, 0, "");
    (void)!nice(NICE);
    (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
}

/* ---- its end ---- */

/* Somebody waits now, and other programs' reads and writes may never end. */
static void hurry(struct writer *w)
{
    (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0); /* as the nice value has it */
    give_reserve_back(w);
}

/* A reader that does not let go of the -wal keeps its file; whoever comes later gets a copy.
 * False: there is no room for one, so that the file needs its -wal. */
static bool settle(struct writer *w)
{
    bool settled = store_settle(w->store);
    if (!settled) {
        char *copy = xasprintf("%s-copy", w->part);
        (void)unlink(copy);
        settled = store_copy(w->store, copy) && rename(copy, w->part) == 0;
        int fd = settled ? open(w->part, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (fd >= 0)
            w->fd = fd;
        free(copy);
    }
    store_free(w->store);
    w->store = NULL;
    if (settled)
        remove_followers(w->part);
    return settled;
}

static void publish(struct writer *w)
{
    struct err err = {0};
    struct stat st = {0};
    bool kept = false;
    (void)fstat(w->fd, &st);
    remove_followers(w->target.path);
    output_open_up(w->fd, w->target.path);
    int error = output_publish(&w->target, w->part, w->fd, &kept, &err);
    if (error == 0)
        answer(w, SINK_DONE, st.st_size, 0, "");
    else
        answer(w, kept ? SINK_KEPT : SINK_FAILED, 0, error, err.text);
    _exit(error == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* No more can be written: what was committed is made a file. */
static void give_up(struct writer *w)
{
    struct err why = {0};
    struct err unused = {0};
    int64_t end_ns = 0;
    int error = store_error(w->store, &why);
    hurry(w);
    (void)store_cut(w->store, &end_ns, &unused);
    if (settle(w) && !end_ns)
        remove_part(w);
    fail(w, end_ns, error, error == -ENOSPC ? strerror(ENOSPC) : why.text);
}

/* Nobody is there any more who could say what is missing.  An earlier file of that name is whole,
 * and stays. */
static void end_cut(struct writer *w)
{
    struct err unused = {0};
    int64_t end_ns = 0;
    if (!w->store)
        _exit(EXIT_FAILURE);
    hurry(w);
    (void)store_cut(w->store, &end_ns, &unused);
    bool settled = settle(w);
    w->target.is_new = true;
    if (end_ns && settled && access(w->target.path, F_OK) != 0)
        publish(w);
    if (!end_ns && settled)
        remove_part(w);
    _exit(EXIT_FAILURE);
}

static void end_whole(struct writer *w, int64_t end_ns)
{
    struct err err = {0};
    hurry(w);
    if (store_end(w->store, end_ns, &err) < 0)
        give_up(w);
    if (!settle(w))
        fail(w, end_ns, -ENOSPC, strerror(ENOSPC));
    publish(w);
}

/* ---- entries ---- */

static void take(struct writer *w, struct entry *e)
{
    struct entry_value end = {.number = 0};
    if (e->kind == ENTRY_OPEN) {
        open_file(w, e);
        return;
    }
    if (!w->store)
        fail(w, 0, -EPROTO, "it was not opened");
    if (e->kind == ENTRY_COMMIT || e->kind == ENTRY_END)
        (void)entry_next(e, &end);
    if (e->kind == ENTRY_END)
        end_whole(w, end.number);
    else if (e->kind == ENTRY_COMMIT)
        store_commit(w->store, end.number);
    else
        store_take(w->store, e);
    if (store_error(w->store, NULL) < 0)
        give_up(w);
}

static void take_all(struct writer *w, struct text *bytes)
{
    size_t done = 0;
    struct entry e;
    ssize_t n;
    while ((n = entry_parse(&e, bytes->s + done, bytes->len - done)) > 0) {
        take(w, &e);
        done += (size_t)n;
    }
    if (n < 0)
        fail(w, 0, -EPROTO, "what came is none of wallspy's");
    memmove(bytes->s, bytes->s + done, bytes->len - done);
    text_truncate(bytes, bytes->len - done);
}

static _Noreturn void run(struct writer *w)
{
    struct text bytes = {0};
    char *part = xmalloc(PART_BYTES);
    for (;;) {
        ssize_t n = read(w->in, part, PART_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text_add_bytes(&bytes, part, (size_t)n);
        take_all(w, &bytes);
    }
    end_cut(w);
    _exit(EXIT_FAILURE);
}

/* ---- the process ---- */

/* Descriptors from FIRST to LAST.  Before Linux 5.9 as many as a program has as a rule. */
static void close_from(int first, int last)
{
    enum { MANY = 1024 };
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    for (int fd = first; fd <= last && fd < MANY; fd++)
        (void)close(fd);
}

/* Whoever waits for the end of wallspy's output must not wait for this.  IN is below OUT. */
static void close_all_but(int in, int out)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    close_from(STDERR_FILENO + 1, in - 1);
    close_from(in + 1, out - 1);
    close_from(out + 1, INT_MAX);
}

static void ignore_signals(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
    struct sigaction action = {.sa_handler = SIG_IGN};
    for (int number = 1; number <= SIGRTMAX; number++)
        (void)sigaction(number, &action, NULL);
    action.sa_handler = SIG_DFL;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        (void)sigaction(faults[i], &action, NULL);
}

static _Noreturn void be_writer(int in, int out)
{
    struct writer w = {.in = in, .out = out, .fd = -1, .reserve = -1};
    (void)setsid();
    ignore_signals();
    close_all_but(in, out);
    (void)prctl(PR_SET_NAME, "wallspy-file");
    run(&w);
}

pid_t sink_process_start(struct sink_pipes *ret)
{
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(from, O_CLOEXEC) < 0) {
        close(to[0]);
        close(to[1]);
        return -errno;
    }
    (void)fcntl(to[1], F_SETPIPE_SZ, PIPE_BYTES); /* less is slower, and works */
    (void)fcntl(to[1], F_SETFL, O_NONBLOCK);
    pid_t pid = fork();
    if (pid == 0)
        be_writer(to[0], from[1]);
    int error = errno;
    close(to[0]);
    close(from[1]);
    if (pid < 0) {
        close(to[1]);
        close(from[0]);
        return -error;
    }
    *ret = (struct sink_pipes){to[1], from[0]};
    return pid;
}
