/* Processes that map the same file share it; processes that map different ones never do. */
#include "target/elf_store.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/modules.h"
#include "tests/support/check_main.h"
#include "tests/support/files.h"

static char folder[] = "/tmp/wallspy-store-XXXXXX";
static char library[TEST_PATH_BYTES];
static char other[TEST_PATH_BYTES];
static struct elf_store *store;

static void copy_build(const char *name, const char *to)
{
    char from[TEST_PATH_BYTES];
    beside_binary(name, from);
    copy_file(from, to);
}

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(library, sizeof library, "%s/library.so", folder);
    (void)snprintf(other, sizeof other, "%s/other.so", folder);
    copy_build("libplugin.so", library);
    store = elf_store_new();
}

static void tear_down(void)
{
    elf_store_free(store);
    (void)unlink(library);
    (void)unlink(other);
    (void)rmdir(folder);
}

static struct elf_file *open_file(const char *path)
{
    struct elf_file *f = NULL;
    ck_assert_int_eq(elf_store_open(store, &f, path), 0);
    return f;
}

static struct elf_file *open_kept(const char *path)
{
    bool known;
    return elf_store_keep(store, open_file(path), &known);
}

static void expect_counts(uint64_t files, uint64_t shared)
{
    ck_assert_uint_eq(elf_store_counters(store)->files, files);
    ck_assert_uint_eq(elf_store_counters(store)->shared, shared);
}

START_TEST(a_file_is_opened_once)
{
    struct elf_file *first = open_kept(library);
    expect_counts(1, 0);
    struct elf_file *second = open_kept(library);
    ck_assert_ptr_eq(first, second);
    expect_counts(1, 1);
    elf_file_free(first);
    elf_file_free(second);
}
END_TEST

START_TEST(what_was_not_kept_is_not_shared)
{
    struct elf_file *first = open_file(library);
    struct elf_file *second = open_file(library);
    ck_assert_ptr_ne(first, second);
    expect_counts(0, 0);
    elf_file_free(first);
    elf_file_free(second);
}
END_TEST

START_TEST(a_replaced_file_is_another)
{
    struct elf_file *old = open_kept(library);
    copy_build("libplugin_stripped.so", library);
    struct elf_file *new = open_kept(library);
    ck_assert_ptr_ne(old, new);
    expect_counts(2, 0);
    elf_file_free(old);
    elf_file_free(new);
}
END_TEST

static void set_time(const char *path, time_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

START_TEST(a_file_that_was_written_to_is_another)
{
    set_time(library, 1);
    struct elf_file *old = open_kept(library);
    set_time(library, 2);
    struct elf_file *new = open_kept(library);
    ck_assert_ptr_ne(old, new);
    elf_file_free(old);
    elf_file_free(new);
}
END_TEST

/* As containers made of one image have it. */
START_TEST(copies_of_one_owner_and_time_are_one_file)
{
    copy_build("libplugin.so", other);
    set_time(library, 1);
    set_time(other, 1);
    struct elf_file *first = open_kept(library);
    struct elf_file *second = open_kept(other);
    ck_assert_ptr_eq(first, second);
    expect_counts(1, 1);
    elf_file_free(first);
    elf_file_free(second);
}
END_TEST

static void expect_two_files(void)
{
    struct elf_file *first = open_kept(library);
    struct elf_file *second = open_kept(other);
    ck_assert_ptr_ne(first, second);
    expect_counts(2, 0);
    elf_file_free(first);
    elf_file_free(second);
}

START_TEST(copies_of_another_time_are_two)
{
    copy_build("libplugin.so", other);
    set_time(library, 1);
    set_time(other, 2);
    expect_two_files();
}
END_TEST

START_TEST(copies_without_a_build_id_are_two)
{
    copy_build("libplugin_sysv.so", library);
    copy_build("libplugin_sysv.so", other);
    set_time(library, 1);
    set_time(other, 1);
    expect_two_files();
}
END_TEST

/* Anybody can write a build id into a file. */
START_TEST(copies_of_another_owner_are_two)
{
    enum { NOBODY = 65534 };
    copy_build("libplugin.so", other);
    if (check_skips(chown(other, NOBODY, NOBODY) < 0, "not permitted to give files away"))
        return;
    set_time(library, 1);
    set_time(other, 1);
    expect_two_files();
}
END_TEST

START_TEST(a_file_is_reopened_by_its_other_name)
{
    ck_assert_int_eq(link(library, other), 0);
    struct elf_file *first = open_kept(library);
    struct elf_file *second = open_kept(other);
    ck_assert_ptr_eq(first, second);
    ck_assert_int_eq(unlink(library), 0);
    int fd = elf_file_reopen(first);
    ck_assert_int_ge(fd, 0);
    close(fd);
    elf_file_free(first);
    elf_file_free(second);
}
END_TEST

static int freed;

static void count_freed(void *extra)
{
    freed += *(int *)extra;
}

START_TEST(a_file_stays_open_for_its_last_user)
{
    static int extra = 1;
    struct addr_range r;
    struct elf_file *f = open_kept(library);
    ck_assert_ptr_null(elf_file_extra(f));
    elf_file_set_extra(f, &extra, count_freed);
    store = elf_store_free(store);
    ck_assert_int_eq(freed, 0);
    ck_assert_ptr_eq(elf_file_extra(f), &extra);
    ck_assert_int_eq(elf_file_symbol(f, "plugin_answer", &r), 0);
    elf_file_free(f);
    ck_assert_int_eq(freed, 1);
}
END_TEST

static int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 1000; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* ---- processes ---- */

/* One that has loaded LIBRARY as it was then. */
struct process {
    pid_t pid;
    struct mem *mem;
    struct modules *modules;
    uint64_t answer; /* the library's function */
};

static void load_and_wait(int answers)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    void *handle = dlopen(library, RTLD_NOW);
    uint64_t answer = (uint64_t)(uintptr_t)(handle ? dlsym(handle, "plugin_answer") : NULL);
    if (write(answers, &answer, sizeof answer) == sizeof answer)
        for (;;)
            (void)pause();
    _exit(1);
}

static struct process start(void)
{
    struct process p = {0};
    int pipe_ends[2];
    ck_assert_int_eq(pipe(pipe_ends), 0);
    p.pid = fork();
    ck_assert_int_ge(p.pid, 0);
    if (p.pid == 0)
        load_and_wait(pipe_ends[1]);
    ck_assert_int_eq(read(pipe_ends[0], &p.answer, sizeof p.answer), sizeof p.answer);
    ck_assert_uint_ne(p.answer, 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    ck_assert_int_eq(mem_live_open(&p.mem, p.pid, NULL), 0);
    p.modules = modules_new(p.pid, p.mem);
    modules_share(p.modules, store);
    ck_assert_int_eq(modules_refresh(p.modules), 0);
    return p;
}

static void stop(struct process *p)
{
    modules_free(p->modules);
    mem_free(p->mem);
    (void)kill(p->pid, SIGKILL);
    ck_assert_int_eq(waitpid(p->pid, NULL, 0), p->pid);
}

/* The file of P's library, which has the right function at the right place. */
static struct elf_file *file_of(struct process *p)
{
    struct addr_range r;
    struct module *m = modules_find(p->modules, p->answer);
    ck_assert_ptr_nonnull(m);
    struct elf_file *f = module_elf(p->modules, m);
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(elf_file_symbol(f, "plugin_answer", &r), 0);
    ck_assert_uint_eq(r.start + m->bias, p->answer);
    return f;
}

START_TEST(processes_share_what_they_both_map)
{
    struct process a = start();
    struct process b = start();
    ck_assert_ptr_eq(file_of(&a), file_of(&b));
    expect_counts(1, 1);
    stop(&a);
    ck_assert_int_eq(unlink(library), 0);
    (void)file_of(&b);
    stop(&b);
}
END_TEST

/* The older process's is no longer at its path: it comes from elsewhere, or from memory. */
START_TEST(processes_with_different_files_of_one_name_share_none)
{
    struct addr_range r;
    struct process a = start();
    copy_build("libplugin_stripped.so", library);
    struct process b = start();
    struct elf_file *of_b = file_of(&b);
    struct elf_file *of_a = file_of(&a);
    ck_assert_ptr_ne(of_a, of_b);
    ck_assert(elf_file_is_file(of_b));
    ck_assert_int_ne(elf_file_symbol(of_b, "plugin_local", &r), 0); /* stripped */
    expect_counts(2, 0);
    stop(&a);
    stop(&b);
}
END_TEST

START_TEST(a_file_that_was_replaced_serves_those_who_have_it)
{
    struct process a = start();
    struct elf_file *of_a = file_of(&a);
    copy_build("libplugin_stripped.so", library);
    struct process b = start();
    ck_assert_ptr_ne(file_of(&b), of_a);
    ck_assert_ptr_eq(file_of(&a), of_a);
    stop(&a);
    struct process c = start();
    ck_assert_ptr_eq(file_of(&c), file_of(&b));
    expect_counts(2, 1);
    stop(&b);
    stop(&c);
}
END_TEST

/* To ask the kernel what is mapped takes an open file of each process. */
START_TEST(hundreds_of_processes_keep_few_descriptors)
{
    enum { PROCESSES = 2 * ELF_STORE_DESCRIPTORS };
    struct modules *all[PROCESSES];
    struct mem *mem;
    const uint64_t code = (uint64_t)(uintptr_t)stop;
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    const int before = count_descriptors();
    int kept = 0;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < PROCESSES; i++) {
            all[i] = modules_new(getpid(), mem);
            modules_share(all[i], store);
            ck_assert_int_eq(modules_refresh(all[i]), 0);
            ck_assert(!modules_replaced(all[i], code, INT64_MAX));
            ck_assert_int_le(count_descriptors(), before + ELF_STORE_DESCRIPTORS);
        }
        ck_assert(round == 0 || count_descriptors() == kept);
        kept = count_descriptors();
        for (int i = 0; i < PROCESSES; i++)
            modules_free(all[i]);
        ck_assert_int_eq(count_descriptors(), before);
    }
    mem_free(mem);
}
END_TEST

CHECK_MAIN_WITH("elf_store", 20, set_up, tear_down, a_file_is_opened_once,
                what_was_not_kept_is_not_shared, a_replaced_file_is_another,
                a_file_that_was_written_to_is_another, copies_of_one_owner_and_time_are_one_file,
                copies_of_another_time_are_two, copies_without_a_build_id_are_two,
                copies_of_another_owner_are_two, a_file_is_reopened_by_its_other_name,
                a_file_stays_open_for_its_last_user, processes_share_what_they_both_map,
                processes_with_different_files_of_one_name_share_none,
                a_file_that_was_replaced_serves_those_who_have_it,
                hundreds_of_processes_keep_few_descriptors)
