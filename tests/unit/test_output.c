/* Files are written in a directory of the test's own, which must hold nothing else afterwards. */
#include "cli/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include "base/log.h"
#include "base/text.h"
#include "tests/support/check_main.h"

static char folder[] = "/tmp/wallspy-output-XXXXXX";

static void enter_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void leave_folder(size_t n_files)
{
    DIR *dir = opendir(".");
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        n += entry->d_type != DT_DIR;
        (void)unlink(entry->d_name);
    }
    closedir(dir);
    ck_assert_int_eq(chdir("/"), 0);
    (void)rmdir(folder);
    ck_assert_uint_eq(n, n_files);
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void expect_file(const char *path, const char *text)
{
    char buf[64] = "";
    gzFile file = gzopen(path, "r"); /* reads plain files too */
    ck_assert_int_eq(gzread(file, buf, sizeof buf - 1), (int)strlen(text));
    ck_assert_str_eq(buf, text);
    (void)gzclose(file);
}

/* Writes TEXT to PATH.  Returns what output_commit() says. */
static int write_text(const char *path, const char *text, output_cancelled cancelled,
                      struct err *err)
{
    struct output_target t;
    struct output *out = NULL;
    int64_t bytes = 0;
    bool kept = false;
    ck_assert_int_eq(output_plan(&t, path, "folded", false, err), 0);
    int r = output_begin(&out, &t, cancelled, err);
    if (r == 0) {
        (void)fputs(text, output_file(out));
        r = output_commit(out, &bytes, &kept, err);
    }
    output_target_release(&t);
    return r;
}

/* Somebody else may have put it there meanwhile, or a link to another one. */
START_TEST(a_file_in_the_place_of_a_fifo_is_not_written)
{
    struct err err = {0};
    struct output_target t;
    struct output *out = NULL;
    enter_folder();
    ck_assert_int_eq(mkfifo("a.folded", 0600), 0);
    ck_assert_int_eq(output_plan(&t, "a.folded", "folded", false, &err), 0);
    ck_assert_int_eq(unlink("a.folded"), 0);
    put_file("b.txt", "old");
    ck_assert_int_eq(symlink("b.txt", "a.folded"), 0);
    ck_assert_int_eq(output_begin(&out, &t, NULL, &err), -EEXIST);
    expect_file("b.txt", "old");
    output_target_release(&t);
    leave_folder(2);
}
END_TEST

START_TEST(a_file_appears_whole)
{
    enter_folder();
    struct err err = {0};
    (void)umask(027);
    put_file("a.json", "old");
    ck_assert_int_eq(write_text("a.json", "new text", NULL, &err), 0);
    expect_file("a.json", "new text");
    ck_assert_int_eq(write_text("b.json.gz", "compressed", NULL, &err), 0);
    expect_file("b.json.gz", "compressed");
    struct stat st;
    ck_assert_int_eq(stat("b.json.gz", &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0640);
    leave_folder(2);
}
END_TEST

START_TEST(a_private_file_stays_private)
{
    enter_folder();
    struct err err = {0};
    struct stat st;
    (void)umask(022);
    put_file("a.json", "old");
    ck_assert_int_eq(chmod("a.json", 0600), 0);
    struct output_target t;
    struct output *out = NULL;
    char name[64];
    (void)snprintf(name, sizeof name, ".a.json.%d.tmp", getpid());
    ck_assert_int_eq(output_plan(&t, "a.json", "folded", false, &err), 0);
    ck_assert_int_eq(output_begin(&out, &t, NULL, &err), 0);
    ck_assert_int_eq(stat(name, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600); /* from its beginning */
    ck_assert_ptr_null(output_discard(out));
    output_target_release(&t);
    ck_assert_int_eq(write_text("a.json", "new", NULL, &err), 0);
    expect_file("a.json", "new");
    ck_assert_int_eq(stat("a.json", &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    leave_folder(1);
}
END_TEST

START_TEST(the_older_file_survives)
{
    enter_folder();
    struct output_target t;
    struct output *out = NULL;
    struct err err = {0};
    put_file("a.json", "old");
    ck_assert_int_eq(output_plan(&t, "a.json", NULL, false, &err), 0);
    ck_assert_str_eq(t.exporter->name, "speedscope");
    ck_assert_int_eq(output_begin(&out, &t, NULL, &err), 0);
    (void)fputs("new", output_file(out));
    ck_assert_int_eq(fflush(output_file(out)), 0);
    expect_file("a.json", "old");
    ck_assert_ptr_null(output_discard(out));
    output_target_release(&t);
    expect_file("a.json", "old");
    leave_folder(1);
}
END_TEST

static bool yes(void)
{
    return true;
}

START_TEST(a_cancelled_write_leaves_nothing)
{
    enter_folder();
    struct err err = {0};
    put_file("a.json", "old");
    ck_assert_int_eq(write_text("a.json", "new", yes, &err), -ECANCELED);
    ck_assert_int_eq(write_text("b.json.gz", "new", yes, &err), -ECANCELED);
    expect_file("a.json", "old");
    leave_folder(1);
}
END_TEST

START_TEST(a_link_stays_and_its_file_is_replaced)
{
    enter_folder();
    struct err err = {0};
    put_file("real.json", "old");
    ck_assert_int_eq(symlink("real.json", "link.json"), 0);
    ck_assert_int_eq(write_text("link.json", "new", NULL, &err), 0);
    struct stat st;
    ck_assert_int_eq(lstat("link.json", &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    expect_file("real.json", "new");
    leave_folder(2);
}
END_TEST

START_TEST(a_link_to_nothing_yet_stays)
{
    enter_folder();
    struct err err = {0};
    ck_assert_int_eq(mkdir("sub", 0777), 0);
    ck_assert_int_eq(symlink("sub/second", "first.json"), 0);
    ck_assert_int_eq(symlink("../real.json", "sub/second"), 0);
    ck_assert_int_eq(write_text("first.json", "new", NULL, &err), 0);
    expect_file("real.json", "new");
    ck_assert_int_eq(unlink("sub/second"), 0);
    ck_assert_int_eq(rmdir("sub"), 0);
    leave_folder(2);
}
END_TEST

/* Writes to the new file PATH after a file of that name has come.  Returns the commit's error. */
static int write_new_too_late(const char *path, struct err *err)
{
    struct output_target t;
    struct output *out = NULL;
    int64_t bytes = 0;
    bool kept = false;
    ck_assert_int_eq(output_plan(&t, path, "folded", true, err), 0);
    ck_assert_int_eq(output_begin(&out, &t, NULL, err), 0);
    (void)fputs("new", output_file(out));
    put_file(path, "old");
    int r = output_commit(out, &bytes, &kept, err);
    output_target_release(&t);
    return r;
}

START_TEST(a_name_that_nobody_chose_replaces_nothing)
{
    enter_folder();
    struct err err = {0};
    struct output_target t = {0};
    char kept[64];
    put_file("a.json", "old");
    ck_assert_int_eq(symlink("b.json", "link.json"), 0);
    ck_assert_int_eq(output_plan(&t, "a.json", NULL, true, &err), -EEXIST);
    ck_assert_str_eq(err.text, "cannot write a.json: File exists. Choose another with -o.");
    ck_assert_int_eq(output_plan(&t, "link.json", NULL, true, &err), -EEXIST);
    ck_assert_int_eq(write_new_too_late("late.json", &err), -EEXIST);
    (void)snprintf(kept, sizeof kept, "wallspy.%d.late.json", getpid());
    ck_assert_ptr_nonnull(strstr(err.text, kept));
    expect_file("late.json", "old");
    expect_file(kept, "new");
    leave_folder(4);
}
END_TEST

START_TEST(root_follows_no_link_of_another_user)
{
    if (check_skips(geteuid() != 0, "only root has files of others"))
        return;
    enter_folder();
    struct err err = {0};
    struct output_target t = {0};
    put_file("real.json", "old");
    ck_assert_int_eq(chmod(".", 01777), 0);
    for (int i = 0; i < 2; i++) { /* to a file that is there, and to one that is not */
        const char *goal = i ? "none.json" : "real.json";
        ck_assert_int_eq(symlink(goal, "middle"), 0);
        ck_assert_int_eq(symlink("middle", "link.json"), 0);
        ck_assert_int_eq(lchown("middle", 1234, 1234), 0);
        ck_assert_int_eq(output_plan(&t, "link.json", NULL, false, &err), -EPERM);
        ck_assert_str_eq(err.text, "cannot write link.json: middle is a link of another user. "
                                   "Choose another with -o.");
        (void)setenv("SUDO_UID", "1234", 1);
        ck_assert_int_eq(output_plan(&t, "link.json", NULL, false, &err), 0);
        ck_assert_str_eq(t.path, goal);
        output_target_release(&t);
        (void)unsetenv("SUDO_UID");
        ck_assert_int_eq(chown(".", 1234, 1234), 0);
        ck_assert_int_eq(output_plan(&t, "link.json", NULL, false, &err), 0);
        output_target_release(&t);
        ck_assert_int_eq(chown(".", 0, 0), 0);
        ck_assert_int_eq(unlink("middle") + unlink("link.json"), 0);
    }
    leave_folder(1);
}
END_TEST

START_TEST(the_mode_of_another_users_file_is_not_inherited)
{
    static const mode_t modes[][2] = {{0666, 0644}, {0600, 0600}, {0777, 0644}};
    if (check_skips(geteuid() != 0, "only root has files of others"))
        return;
    enter_folder();
    struct err err = {0};
    struct stat st;
    (void)umask(022);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        put_file("a.json", "old");
        ck_assert_int_eq(chown("a.json", 1234, 1234), 0);
        ck_assert_int_eq(chmod("a.json", modes[i][0]), 0);
        ck_assert_int_eq(write_text("a.json", "new", NULL, &err), 0);
        ck_assert_int_eq(stat("a.json", &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, modes[i][1]);
        ck_assert_uint_eq(st.st_uid, 0);
    }
    leave_folder(1);
}
END_TEST

/* What others have written to it stays, and what they write next comes behind. */
START_TEST(a_descriptor_is_written_as_it_is)
{
    static const char *const paths[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    enter_folder();
    struct err err = {0};
    int fd = open("all", O_RDWR | O_CREAT, 0666);
    ck_assert_int_eq(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ck_assert_int_eq(write(fd, "<", 1), 1);
        ck_assert_int_eq(write_text(paths[i], "x", NULL, &err), 0);
        ck_assert_int_eq(write(fd, ">", 1), 1);
    }
    expect_file("all", "<x><x><x><x>");
    struct output_target t = {0};
    fd = open("all", O_RDONLY);
    ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    ck_assert_int_eq(output_plan(&t, "/dev/stderr", NULL, false, &err), -EBADF);
    ck_assert_str_eq(err.text,
                     "cannot write /dev/stderr: Bad file descriptor: it is not open for writing.");
    leave_folder(1);
}
END_TEST

START_TEST(names_of_any_length_are_written_or_refused_at_once)
{
    char name[301];
    enter_folder();
    struct err err = {0};
    struct output_target t = {0};
    memset(name, 'a', sizeof name);
    name[255] = '\0';
    ck_assert_int_eq(write_text(name, "x", NULL, &err), 0);
    name[255] = 'a';
    name[300] = '\0';
    ck_assert_int_eq(output_plan(&t, name, "folded", false, &err), -ENAMETOOLONG);
    ck_assert(str_ends(err.text, ": File name too long. Choose another with -o."));
    ck_assert_int_lt(output_plan(&t, "/proc/x.json", NULL, false, &err), 0);
    leave_folder(1);
}
END_TEST

START_TEST(failed_writes_are_one_error)
{
    struct err err = {0};
    ck_assert_int_eq(write_text("/dev/full", "x", NULL, &err), -ENOSPC);
    ck_assert_str_eq(err.text, "cannot write /dev/full: No space left on device");
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    (void)dup2(ends[1], STDOUT_FILENO);
    (void)signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(write_text("-", "x", NULL, &err), -EPIPE);
    ck_assert_str_eq(err.text, "cannot write -: Broken pipe");
    struct stat st;
    ck_assert_int_eq(stat("/dev/full", &st), 0);
    ck_assert(S_ISCHR(st.st_mode));
}
END_TEST

START_TEST(a_socket_is_no_file)
{
    enter_folder();
    struct err err = {0};
    struct sockaddr_un address = {AF_UNIX, "a.sock"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(write_text("a.sock", "x", NULL, &err), -ENXIO);
    ck_assert_str_eq(err.text, "cannot write a.sock: No such device or address");
    close(fd);
    leave_folder(1);
}
END_TEST

static const struct {
    const char *path, *format;
    int error;
    const char *text;
} refused[] = {
    {"/no/such/dir/a.json", NULL, -ENOENT,
     "cannot write /no/such/dir/a.json: /no/such/dir/: No such file or directory. Make that "
     "directory, or choose another with -o."},
    {"/tmp", "folded", -EISDIR, "cannot write /tmp: it is a directory. Name a file in it."},
    {"a.xyz", NULL, -EINVAL,
     "a.xyz: what format? End it in .json (speedscope), .folded or .txt (folded), .firefox.json "
     "(firefox), .pb (pprof), .svg (flamegraph), .wallspy (wallspy), or give -f"},
    {"a.json", "pdf", -EINVAL,
     "--format pdf: speedscope, folded (raw), firefox, pprof, flamegraph (svg) or wallspy"},
    {"/dev/null/a.json", NULL, -ENOTDIR,
     "cannot write /dev/null/a.json: /dev/null/: Not a directory. Choose another with -o."},
};

START_TEST(mistakes_are_found_before_the_start)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct output_target t = {0};
        struct err err = {0};
        ck_assert_int_eq(output_plan(&t, refused[i].path, refused[i].format, false, &err),
                         refused[i].error);
        ck_assert_str_eq(err.text, refused[i].text);
    }
}
END_TEST

START_TEST(under_sudo_the_file_is_the_users)
{
    if (check_skips(geteuid() != 0, "only root may give a file away"))
        return;
    enter_folder();
    struct err err = {0};
    (void)setenv("SUDO_UID", "1234", 1);
    (void)setenv("SUDO_GID", "2345", 1);
    ck_assert_int_eq(write_text("a.json", "x", NULL, &err), 0);
    struct stat st;
    ck_assert_int_eq(stat("a.json", &st), 0);
    ck_assert_uint_eq(st.st_uid, 1234);
    ck_assert_uint_eq(st.st_gid, 2345);
    leave_folder(1);
}
END_TEST

static char told[256];

static void note(const char *line)
{
    (void)snprintf(told, sizeof told, "%s", line);
}

/* As on a file system without owners. */
static void may_not_change_owners(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    ck_assert_int_eq(syscall(SYS_capget, &head, data), 0);
    data[0].effective &= ~(1U << CAP_CHOWN);
    ck_assert_int_eq(syscall(SYS_capset, &head, data), 0);
}

START_TEST(a_file_that_cannot_be_given_away_is_written_all_the_same)
{
    if (check_skips(geteuid() != 0, "only root may give a file away"))
        return;
    enter_folder();
    struct err err = {0};
    (void)setenv("SUDO_UID", "1234", 1);
    may_not_change_owners();
    log_set_sink(note);
    ck_assert_int_eq(write_text("a.json", "x", NULL, &err), 0);
    ck_assert_str_eq(told, "cannot give a.json to its user: Operation not permitted");
    expect_file("a.json", "x");
    leave_folder(1);
}
END_TEST

CHECK_MAIN("output", 20, a_file_in_the_place_of_a_fifo_is_not_written, a_file_appears_whole,
           a_private_file_stays_private, the_older_file_survives, a_cancelled_write_leaves_nothing,
           a_link_stays_and_its_file_is_replaced, a_link_to_nothing_yet_stays,
           a_name_that_nobody_chose_replaces_nothing, root_follows_no_link_of_another_user,
           the_mode_of_another_users_file_is_not_inherited, a_descriptor_is_written_as_it_is,
           names_of_any_length_are_written_or_refused_at_once, failed_writes_are_one_error,
           a_socket_is_no_file, mistakes_are_found_before_the_start,
           under_sudo_the_file_is_the_users,
           a_file_that_cannot_be_given_away_is_written_all_the_same)
