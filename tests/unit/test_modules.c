#include "target/modules_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/files.h"

/* A child that maps and unmaps libraries when told to. */
struct child {
    pid_t pid;
    int commands, answers;
    struct mem *mem;
    struct modules *modules;
};

enum command { LOAD, UNLOAD, MOVE, SPLIT_TEXT, MAP_AS_DATA };

static char tmp[32];
static char library[TEST_PATH_BYTES];
static char original[TEST_PATH_BYTES];

static uint64_t do_command(enum command command)
{
    static void *handle;
    static void *function;
    switch (command) {
    case LOAD:
        handle = dlopen(library, RTLD_NOW);
        return (uint64_t)(uintptr_t)(function = handle ? dlsym(handle, "plugin_answer") : NULL);
    case UNLOAD:
        return (uint64_t)dlclose(handle);
    case MOVE: {
        /* Loads it anew, elsewhere: where it was is taken. */
        Dl_info info;
        ck_assert_int_ne(dladdr(function, &info), 0);
        ck_assert_int_eq(dlclose(handle), 0);
        ck_assert_ptr_eq(mmap(info.dli_fbase, 4096, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                         info.dli_fbase);
        return do_command(LOAD);
    }
    case SPLIT_TEXT: {
        uintptr_t page = (uintptr_t)function & ~(uintptr_t)4095;
        return (uint64_t)mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    }
    case MAP_AS_DATA: {
        /* Right below the library if there is room, where the two look most alike. */
        Dl_info info;
        ck_assert_int_ne(dladdr(function, &info), 0);
        FILE *f = fopen(library, "rb");
        ck_assert_ptr_nonnull(f);
        void *p =
            mmap((char *)info.dli_fbase - (1 << 14), 1 << 14, PROT_READ, MAP_PRIVATE, fileno(f), 0);
        fclose(f);
        return (uint64_t)(uintptr_t)p;
    }
    }
    return 0;
}

static void run_child(int commands, int answers)
{
    char command;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(commands, &command, 1) == 1) {
        uint64_t answer = do_command((enum command)command);
        if (write(answers, &answer, sizeof answer) != sizeof answer)
            break;
    }
    _exit(0);
}

/* The child's modules are not read again. */
static uint64_t tell_unread(const struct child *c, enum command command)
{
    char byte = (char)command;
    uint64_t answer;
    ck_assert_int_eq(write(c->commands, &byte, 1), 1);
    ck_assert_int_eq(read(c->answers, &answer, sizeof answer), sizeof answer);
    return answer;
}

static uint64_t tell(struct child *c, enum command command)
{
    uint64_t answer = tell_unread(c, command);
    ck_assert_int_eq(modules_refresh(c->modules), 0);
    return answer;
}

static void start(struct child *c, const char *name)
{
    int to[2];
    int from[2];
    (void)snprintf(tmp, sizeof tmp, "/tmp/wallspy-modules-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tmp));
    beside_binary(name, original);
    (void)snprintf(library, sizeof library, "%s/lib with space.so", tmp);
    copy_file(original, library);
    ck_assert(pipe(to) == 0 && pipe(from) == 0);
    c->pid = fork();
    ck_assert_int_ge(c->pid, 0);
    if (c->pid == 0) {
        close(to[1]);
        run_child(to[0], from[1]);
    }
    c->commands = to[1];
    c->answers = from[0];
    ck_assert_int_eq(mem_live_open(&c->mem, c->pid, NULL), 0);
    c->modules = modules_new(c->pid, c->mem);
    ck_assert_int_eq(modules_refresh(c->modules), 0);
}

static void stop(struct child *c)
{
    c->modules = modules_free(c->modules);
    c->mem = mem_free(c->mem);
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    unlink(library);
    rmdir(tmp);
}

/* The module at ADDR must be the library, and its function plugin_answer must lie at ADDR. */
static struct module *check_library(struct child *c, uint64_t addr, enum module_origin origin)
{
    struct module *m = modules_find(c->modules, addr);
    ck_assert_ptr_nonnull(m);
    ck_assert_str_eq(m->path, library);
    ck_assert_str_eq(m->name, "lib with space.so");
    ck_assert_ptr_eq(modules_get(c->modules, m->id), m);
    struct elf_file *f = module_elf(c->modules, m);
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_eq(m->elf, f);
    struct addr_range r;
    ck_assert_int_eq(elf_file_symbol(f, "plugin_answer", &r), 0);
    ck_assert_uint_eq(r.start + m->bias, addr);
    ck_assert_uint_eq(m->head, m->start);
    const struct module_counters *counters = modules_counters(c->modules);
    ck_assert_uint_eq(counters->origins[origin], 1);
    return m;
}

/* Where a file that cannot be opened by its path comes from: root may use map_files. */
static enum module_origin fallback(struct child *c)
{
    uint64_t n = modules_counters(c->modules)->origins[MODULE_MAP_FILES];
    return n ? MODULE_MAP_FILES : MODULE_MEMORY;
}

/* The file at the library's path is not the one that is mapped. */
static void check_not_by_path(struct child *c, uint64_t addr)
{
    (void)module_elf(c->modules, modules_find(c->modules, addr));
    ck_assert_uint_eq(modules_counters(c->modules)->origins[MODULE_PATH], 0);
    check_library(c, addr, fallback(c));
}

START_TEST(a_process_has_its_modules)
{
    struct child c;
    start(&c, "libplugin.so");
    struct module *self = modules_find(c.modules, (uint64_t)(uintptr_t)&tell);
    ck_assert_str_eq(self->name, "test_modules");
    ck_assert_ptr_nonnull(module_elf(c.modules, self));
    struct module *libc =
        modules_find(c.modules, (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    ck_assert_str_eq(libc->name, "libc.so.6");
    ck_assert_uint_eq(modules_counters(c.modules)->origins[MODULE_PATH], 1);
    static const uint64_t nowhere[] = {0, 1, 1ULL << 47, UINT64_MAX};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        ck_assert_ptr_null(modules_find(c.modules, nowhere[i]));
    ck_assert_ptr_null(modules_get(c.modules, (uint32_t)modules_count(c.modules)));
    stop(&c);
}
END_TEST

START_TEST(the_vdso_is_one_of_them)
{
    struct child c;
    if (check_skips(!getauxval(AT_SYSINFO_EHDR), "no vdso: valgrind hides it"))
        return;
    start(&c, "libplugin.so");
    struct module *vdso = NULL;
    for (uint32_t i = 0; i < modules_count(c.modules); i++)
        if (str_eq(modules_get(c.modules, i)->path, "[vdso]"))
            vdso = modules_get(c.modules, i);
    ck_assert_ptr_nonnull(vdso);
    const struct module_counters *counters = modules_counters(c.modules);
    uint64_t addr;
    struct addr_range r;
    struct module_entry *e = (struct module_entry *)vdso;
    ck_assert_int_eq(modules_symbol(c.modules, e, "__vdso_time", &addr), 0);
    ck_assert_int_eq(modules_symbol(c.modules, e, "__vdso_none", &r.start), -ENOENT);
    ck_assert_uint_eq(counters->origins[MODULE_MEMORY], 0); /* needs no image */
    ck_assert_uint_eq(counters->images.bytes, ELF_IMAGES_BYTES);
    ck_assert_int_eq(elf_file_symbol(module_elf(c.modules, vdso), "__vdso_time", &r), 0);
    ck_assert_uint_eq(r.start + vdso->bias, addr);
    ck_assert_uint_eq(counters->origins[MODULE_MEMORY], 1);
    ck_assert_uint_lt(counters->images.bytes, ELF_IMAGES_BYTES);
    ck_assert_int_eq(modules_symbol(c.modules, e, "__vdso_time", &addr), 0);
    ck_assert_uint_eq(r.start + vdso->bias, addr);
    stop(&c);
}
END_TEST

START_TEST(a_loaded_library_comes_from_its_path)
{
    struct child c;
    start(&c, "libplugin.so");
    size_t before = modules_count(c.modules);
    uint64_t addr = tell(&c, LOAD);
    struct module *m = check_library(&c, addr, MODULE_PATH);
    ck_assert_uint_eq(modules_count(c.modules), before + 1);
    struct addr_range r;
    ck_assert_int_eq(elf_file_symbol(m->elf, "plugin_zeros", &r), 0);
    ck_assert_ptr_eq(modules_find(c.modules, m->bias + r.start + r.len - 1), m); /* bss */
    ck_assert_int_eq(elf_file_symbol(m->elf, "plugin_local", &r), 0);            /* .symtab */
    stop(&c);
}
END_TEST

START_TEST(a_deleted_library_is_read_all_the_same)
{
    struct child c;
    start(&c, "libplugin.so");
    uint64_t addr = tell(&c, LOAD);
    ck_assert_int_eq(unlink(library), 0);
    ck_assert_int_eq(modules_refresh(c.modules), 0);
    (void)module_elf(c.modules, modules_find(c.modules, addr));
    check_library(&c, addr, fallback(&c));
    stop(&c);
}
END_TEST

START_TEST(a_replaced_library_is_not_taken_for_the_mapped_one)
{
    static const char *const builds[] = {"libplugin.so", "libplugin_sysv.so"};
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        struct child c;
        char other[TEST_PATH_BYTES];
        start(&c, builds[i]);
        uint64_t addr = tell(&c, LOAD);
        beside_binary("libplugin_stripped.so", other);
        copy_file(other, library);
        ck_assert_int_eq(modules_refresh(c.modules), 0);
        check_not_by_path(&c, addr);
        stop(&c);
    }
}
END_TEST

/* The build id says that it is the same. */
START_TEST(an_equal_file_under_another_inode_is_accepted)
{
    struct child c;
    start(&c, "libplugin.so");
    uint64_t addr = tell(&c, LOAD);
    copy_file(original, library);
    check_library(&c, addr, MODULE_PATH);
    stop(&c);
}
END_TEST

/* It may be another build, which differs in names alone. */
START_TEST(without_a_build_id_another_inode_is_another_file)
{
    struct child c;
    start(&c, "libplugin_sysv.so");
    uint64_t addr = tell(&c, LOAD);
    copy_file(original, library);
    check_not_by_path(&c, addr);
    stop(&c);
}
END_TEST

/* Without a build id the tables decide. */
START_TEST(a_file_with_another_table_is_not_taken_for_the_mapped_one)
{
    struct child c;
    struct addr_range table;
    start(&c, "libplugin_sysv.so");
    uint64_t addr = tell(&c, LOAD);
    struct elf_file *f;
    ck_assert_int_eq(elf_file_open(&f, original, NULL), 0);
    ck_assert_int_eq(elf_file_section(f, ".eh_frame_hdr", &table), 0);
    elf_file_free(f);
    copy_file(original, library);
    patch_file(library, (long)(table.start + table.len - 4), "\x55",
               1); /* its addresses are offsets too */
    check_not_by_path(&c, addr);
    stop(&c);
}
END_TEST

static const rlim_t stacks[] = {8 << 20, RLIM_INFINITY};

/* Returns the pid of the sleep(1) at PATH, with a stack of STACK bytes, that runs now. */
static pid_t start_sleep(const char *path, rlim_t stack)
{
    int started[2];
    char none;
    ck_assert_int_eq(pipe2(started, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setrlimit(RLIMIT_STACK, &(struct rlimit){stack, RLIM_INFINITY});
        (void)execl(path, "sleep", "60", NULL);
        _exit(1);
    }
    close(started[1]);
    ck_assert_int_eq(read(started[0], &none, 1), 0);
    close(started[0]);
    return pid;
}

/* Libraries are mapped below the program then. */
START_TEST(the_program_is_known_where_stacks_are_unlimited)
{
    for (int i = 0; i < 2; i++) {
        pid_t pid = start_sleep("/bin/sleep", stacks[i]);
        struct mem *mem;
        ck_assert_int_eq(mem_live_open(&mem, pid, NULL), 0);
        struct modules *modules = modules_new(pid, mem);
        ck_assert_int_eq(modules_refresh(modules), 0);
        ck_assert_str_eq(modules_executable(modules)->name, "sleep");
        modules_free(modules);
        mem_free(mem);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}
END_TEST

/* As where a program is installed anew while it runs. */
START_TEST(a_deleted_program_is_read_all_the_same)
{
    char path[] = "/tmp/wallspy-program-XXXXXX";
    int fd = mkstemp(path);
    copy_file("/bin/sleep", path);
    ck_assert(close(fd) == 0 && chmod(path, 0700) == 0);
    pid_t pid = start_sleep(path, stacks[0]);
    ck_assert_int_eq(unlink(path), 0);
    struct mem *mem;
    ck_assert_int_eq(mem_live_open(&mem, pid, NULL), 0);
    struct modules *modules = modules_new(pid, mem);
    ck_assert_int_eq(modules_refresh(modules), 0);
    ck_assert_ptr_nonnull(module_elf(modules, modules_get(modules, 0)));
    ck_assert_uint_eq(modules_counters(modules)->origins[MODULE_EXE], 1);
    modules_free(modules);
    mem_free(mem);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(a_library_loaded_again_keeps_its_id_where_it_was)
{
    struct child c;
    start(&c, "libplugin.so");
    uint64_t addr = tell(&c, LOAD);
    struct module *m = check_library(&c, addr, MODULE_PATH);
    ck_assert_int_eq((int)tell(&c, UNLOAD), 0);
    ck_assert_ptr_null(modules_find(c.modules, addr));
    ck_assert_ptr_nonnull(module_elf(c.modules, m));
    uint64_t again = tell(&c, LOAD);
    struct module *second = modules_find(c.modules, again);
    ck_assert_int_eq(second == m, again == addr);
    ck_assert_int_eq((int)tell(&c, UNLOAD), 0);

    char other[TEST_PATH_BYTES];
    beside_binary("libplugin_stripped.so", other);
    copy_file(other, library); /* another build at the same place */
    struct module *third = modules_find(c.modules, tell(&c, LOAD));
    ck_assert_ptr_nonnull(third);
    ck_assert_ptr_ne(third, m);
    ck_assert_str_eq(third->path, m->path);
    stop(&c);
}
END_TEST

/* A target may load it again and again for days: each time would cost a descriptor. */
START_TEST(a_file_at_several_places_is_opened_once)
{
    struct child c;
    start(&c, "libplugin.so");
    struct module *first = check_library(&c, tell(&c, LOAD), MODULE_PATH);
    uint64_t addr = tell(&c, MOVE);
    struct module *second = modules_find(c.modules, addr);
    ck_assert_ptr_eq(module_elf(c.modules, second), first->elf);
    ck_assert_uint_eq(second->bias - first->bias, second->start - first->start);
    ck_assert_ptr_ne(second, first);
    stop(&c);
}
END_TEST

/* Before the maps are read again, where the kernel can be asked. */
START_TEST(another_file_in_the_place_of_one_is_noticed)
{
    struct child c;
    start(&c, "libplugin.so");
    uint64_t addr = tell(&c, LOAD);
    ck_assert(!modules_replaced(c.modules, addr, clock_now_ns()));
    ck_assert(!modules_replaced(c.modules, addr, 0));
    ck_assert_int_eq((int)tell_unread(&c, SPLIT_TEXT), 0);
    ck_assert(!modules_replaced(c.modules, addr, clock_now_ns()));
    uint32_t generation = modules_generation(c.modules);
    ck_assert_int_eq(modules_refresh(c.modules), 0);
    ck_assert_uint_eq(modules_generation(c.modules), generation);
    struct mapping here;
    int fd = maps_open(c.pid);
    bool asked = maps_ask(fd, addr, &here) != -ENOTTY;
    ck_assert(!asked || (addr >= here.start && addr < here.end && here.inode));

    int64_t before_ns = clock_now_ns();
    ck_assert(!modules_replaced(c.modules, addr, before_ns));
    ck_assert_int_eq((int)tell_unread(&c, UNLOAD), 0);
    ck_assert(!modules_replaced(c.modules, addr, before_ns)); /* that was seen */
    ck_assert_int_eq(modules_replaced(c.modules, addr, clock_now_ns()), asked);
    char other[TEST_PATH_BYTES];
    (void)snprintf(other, sizeof other, "%s/other.so", tmp);
    ck_assert_int_eq(rename(library, other), 0); /* so that its inode is not used again */
    copy_file(original, library);
    ck_assert_uint_eq(tell_unread(&c, LOAD), addr);
    ck_assert_int_eq(modules_replaced(c.modules, addr, clock_now_ns()), asked);
    ck_assert_int_eq(modules_refresh(c.modules), 0);
    ck_assert_uint_gt(modules_generation(c.modules), generation);
    ck_assert(!modules_replaced(c.modules, addr, clock_now_ns()));
    ck_assert(!modules_replaced(c.modules, 1, clock_now_ns()));
    unlink(other);
    close(fd);
    stop(&c);
}
END_TEST

START_TEST(split_text_and_data_mappings_do_not_confuse)
{
    struct child c;
    start(&c, "libplugin.so");
    uint64_t addr = tell(&c, LOAD);
    struct module *m = check_library(&c, addr, MODULE_PATH);
    size_t before = modules_count(c.modules);
    uint64_t end = m->end;
    ck_assert_int_eq((int)tell(&c, SPLIT_TEXT), 0);
    uint64_t data = tell(&c, MAP_AS_DATA);
    ck_assert_ptr_nonnull(maps_find(modules_maps(c.modules), data));
    ck_assert_ptr_null(modules_find(c.modules, data));
    ck_assert_ptr_eq(modules_find(c.modules, addr), m);
    ck_assert_ptr_eq(modules_find(c.modules, end - 1), m);
    ck_assert_uint_eq(modules_count(c.modules), before);

    uint32_t generation = modules_maps(c.modules)->generation;
    modules_exec(c.modules);
    ck_assert_ptr_null(modules_find(c.modules, addr));
    ck_assert_int_eq(modules_refresh(c.modules), 0);
    ck_assert_uint_gt(modules_maps(c.modules)->generation, generation);
    ck_assert_ptr_eq(modules_find(c.modules, addr), m);
    stop(&c);
}
END_TEST

START_TEST(a_process_that_is_gone)
{
    struct child c;
    start(&c, "libplugin.so");
    kill(c.pid, SIGKILL);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(modules_refresh(c.modules), -ESRCH);
    uint64_t value;
    ck_assert_int_eq(mem_read_u64(c.mem, (uint64_t)(uintptr_t)&tmp, &value), -ESRCH);
    struct module *self = modules_find(c.modules, (uint64_t)(uintptr_t)&tell);
    ck_assert_ptr_nonnull(module_elf(c.modules, self)); /* its path is there still */
    stop(&c);
}
END_TEST

CHECK_MAIN("modules", 30, a_process_has_its_modules, the_vdso_is_one_of_them,
           a_loaded_library_comes_from_its_path, a_deleted_library_is_read_all_the_same,
           a_replaced_library_is_not_taken_for_the_mapped_one,
           an_equal_file_under_another_inode_is_accepted,
           without_a_build_id_another_inode_is_another_file,
           a_file_with_another_table_is_not_taken_for_the_mapped_one,
           a_deleted_program_is_read_all_the_same, the_program_is_known_where_stacks_are_unlimited,
           a_library_loaded_again_keeps_its_id_where_it_was,
           a_file_at_several_places_is_opened_once, another_file_in_the_place_of_one_is_noticed,
           split_text_and_data_mappings_do_not_confuse, a_process_that_is_gone)
