/* Frames of this very process get their names. */
#include "symbolizer/symbolizer.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "symbolizer/debug_file.h"
#include "target/elf_store.h"
#include "tests/support/check_main.h"

static __attribute__((noinline)) int live_function(int x)
{
    return x + (int)getpid();
}

static bool is_live_function(const char *function)
{
    return str_eq(function, "live_function");
}

static bool is_live_function_in(const char *function, const char *file)
{
    return is_live_function(function) && str_ends(file, "/test_symbolizer_live.c");
}

static struct name_faults faults;
static const struct naming_quiet loud;

static bool on_progress(void *ctx, double share)
{
    double *last = ctx;
    ck_assert(share >= *last && share <= 1);
    *last = share;
    return true;
}

/* At the first look-up; before that the share is 0. */
static bool stop_at_once(void *ctx, double share)
{
    ck_assert(share < 1);
    *(int *)ctx += share > 0;
    return share == 0;
}

struct look_ups {
    double last;
    int n;
};

static bool count_look_ups(void *ctx, double share)
{
    struct look_ups *look_ups = ctx;
    ck_assert(share >= look_ups->last && share <= 1);
    look_ups->n += share > look_ups->last;
    look_ups->last = share;
    return true;
}

static const char *build_id; /* of the modules that add_frame() adds; NULL: they have none */

static frame_id add_frame(struct profile *p, struct symbolizer *s, struct modules *modules,
                          const void *code, uint32_t flags, uint64_t bias)
{
    struct module *m = modules_find(modules, (uintptr_t)code);
    ck_assert_ptr_nonnull(m);
    ck_assert_ptr_nonnull(module_elf(modules, m));
    struct profile_module pm = {
        .name = profile_string(p, m->name), .path = profile_string(p, m->path), .bias = bias};
    if (build_id)
        pm.build_id = profile_string(p, build_id);
    struct frame f = {.kind = FRAME_NATIVE, .flags = flags};
    f.native.module = profile_module(p, &pm);
    f.native.offset = (uintptr_t)code - m->bias;
    symbolizer_add_module(s, f.native.module, modules, m);
    return profile_frame(p, &f);
}

static const struct location *only_location(const struct profile *p, frame_id id)
{
    size_t n;
    const struct location *l = profile_locations(p, id, &n);
    ck_assert_uint_eq(n, 1);
    return l;
}

/* A job beside the recording changes the profile only when it is ended. */
static void check_go(struct symbolizer *s, const struct profile *p, frame_id libc)
{
    size_t n;
    struct naming_job *job = symbolizers_start(&s, 1, loud, &faults);
    ck_assert_ptr_nonnull(job);
    while (!naming_job_is_done(job))
        usleep(1000);
    ck_assert_ptr_null(profile_locations(p, libc, &n));
    ck_assert_uint_eq(naming_job_end(job), 1);
    ck_assert(strstr(profile_text(p, only_location(p, libc)->function), "printf"));
    ck_assert_ptr_null(symbolizers_start(&s, 1, loud, &faults));
    ck_assert_uint_eq(naming_job_end(NULL), 0);
}

START_TEST(live_frames_get_their_names)
{
    struct mem *mem;
    struct err err;
    double share = 0;
    ck_assert_int_eq(mem_live_open(&mem, getpid(), &err), 0);
    struct modules *modules = modules_new(getpid(), mem);
    ck_assert_int_eq(modules_refresh(modules), 0);
    struct profile *p = profile_new(0);
    struct symbolizer *s = symbolizer_new(p, getpid());
    frame_id libc = add_frame(p, s, modules, (const void *)printf, FRAME_IS_INTERPRETER, 0);
    check_go(s, p, libc);
    frame_id own = add_frame(p, s, modules, (const void *)live_function, FRAME_IS_INTERPRETER, 0);
    frame_id user = add_frame(p, s, modules, (const void *)live_function, 0, 0);
    frame_id embedding =
        add_frame(p, s, modules, (const void *)live_function, FRAME_IS_EMBEDDING, 0);
    frame_id test = add_frame(p, s, modules, (const void *)on_progress, 0, 0);
    struct frame jit = {.kind = FRAME_NATIVE, .native = {.offset = 0x1234}};
    frame_id nowhere = profile_frame(p, &jit);
    symbolizer_set_internal(s, (struct internal_functions){.of_interpreter = is_live_function,
                                                           .of_program = is_live_function_in});
    int asked = 0;
    symbolizers_run(&s, 1, loud, &faults, stop_at_once, &asked);
    ck_assert_int_eq(asked, 1);
    symbolizers_run(&s, 1, loud, &faults, on_progress, &share);
    ck_assert(share == 1);
    ck_assert_str_eq(profile_text(p, only_location(p, own)->function), "live_function");
    ck_assert(str_ends(profile_text(p, only_location(p, own)->file), "/test_symbolizer_live.c"));
    ck_assert_str_eq(profile_text(p, only_location(p, test)->function), "on_progress");
    ck_assert(only_location(p, own)->internal);
    ck_assert(only_location(p, embedding)->internal);
    ck_assert(!only_location(p, user)->internal);
    ck_assert(strstr(profile_text(p, only_location(p, libc)->function), "printf"));
    ck_assert(!only_location(p, libc)->internal);
    size_t n;
    ck_assert_ptr_null(profile_locations(p, nowhere, &n));
    symbolizers_run(&s, 1, loud, &faults, NULL, NULL);
    ck_assert_int_ne(live_function(1), 0);
    symbolizer_free(s);
    profile_free(p);
    modules_free(modules);
    mem_free(mem);
}
END_TEST

/* Address space randomisation puts a library elsewhere in each process, so that each has modules
 * and frames of its own. */
START_TEST(what_several_processes_run_is_looked_up_once)
{
    enum { PROCESSES = 3 };
    struct mem *mem;
    struct modules *modules[PROCESSES];
    struct symbolizer *all[PROCESSES];
    frame_id frames[PROCESSES];
    struct elf_store *store = elf_store_new();
    struct profile *p = profile_new(0);
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    for (uint64_t i = 0; i < PROCESSES; i++) {
        modules[i] = modules_new(getpid(), mem);
        modules_share(modules[i], store);
        ck_assert_int_eq(modules_refresh(modules[i]), 0);
        all[i] = symbolizer_new(p, getpid());
        frames[i] = add_frame(p, all[i], modules[i], (const void *)live_function, 0, i << 12);
    }
    struct look_ups look_ups = {0};
    symbolizers_run(all, PROCESSES, loud, &faults, count_look_ups, &look_ups);
    ck_assert_int_eq(look_ups.n, 1);
    for (int i = 0; i < PROCESSES; i++) {
        ck_assert(i == 0 || frames[i].ix != frames[i - 1].ix);
        ck_assert_str_eq(profile_text(p, only_location(p, frames[i])->function), "live_function");
        symbolizer_free(all[i]);
        modules_free(modules[i]);
    }
    elf_store_free(store);
    profile_free(p);
    mem_free(mem);
}
END_TEST

/* The file of the first of two processes is gone, so that it has an image of its memory, which does
 * not tell the name of a static function.  BIAS: where the second has it. */
static void name_beside_an_image(uint64_t bias)
{
    enum { PROCESSES = 2 };
    struct mem *mem;
    struct modules *modules[PROCESSES];
    struct symbolizer *all[PROCESSES];
    frame_id frames[PROCESSES];
    struct elf_file *image;
    struct profile *p = profile_new(0);
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    for (int i = 0; i < PROCESSES; i++) {
        modules[i] = modules_new(getpid(), mem);
        ck_assert_int_eq(modules_refresh(modules[i]), 0);
        all[i] = symbolizer_new(p, getpid());
        frames[i] = add_frame(p, all[i], modules[i], (const void *)live_function, 0, i ? bias : 0);
    }
    struct module *gone = modules_find(modules[0], (uintptr_t)live_function);
    ck_assert_int_eq(elf_file_from_memory(&image, mem, gone->head, NULL), 0);
    struct elf_file *file = gone->elf;
    gone->elf = image;
    symbolizers_run(all, PROCESSES, loud, &faults, NULL, NULL);
    gone->elf = file;
    for (int i = 0; i < PROCESSES; i++) {
        ck_assert_str_eq(profile_text(p, only_location(p, frames[i])->function), "live_function");
        symbolizer_free(all[i]);
        modules_free(modules[i]);
    }
    elf_file_free(image);
    profile_free(p);
    mem_free(mem);
}

START_TEST(a_file_comes_before_an_image_of_it)
{
    build_id = "0123456789abcdef";
    name_beside_an_image(0); /* as a forked process has it */
    name_beside_an_image(0x1000);
    build_id = NULL;
}
END_TEST

/* ---- code outside all files ---- */

static void write_map(const char *path)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    (void)fputs("1000 10 first\n", f);
    (void)fclose(f);
}

/* N frames of code from ADDR on that has no name. */
static void add_nameless(struct profile *p, struct symbolizer *s, uint64_t addr, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct frame f = {.kind = FRAME_NATIVE, .native = {.offset = addr + i}};
        symbolizer_add_jit_frame(s, profile_frame(p, &f), addr + i);
    }
}

START_TEST(frames_beyond_those_that_wait_for_a_name_are_counted)
{
    enum { ROOM = 1 << 16 };
    char path[64];
    struct profile *p = profile_new(0);
    struct symbolizer *s = symbolizer_new(p, getpid());
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    (void)unlink(path);
    add_nameless(p, s, 0x100000, ROOM + 3);
    ck_assert_uint_eq(symbolizer_unqueued(s), 0); /* nobody names code */
    symbolizer_free(s);
    s = symbolizer_new(p, getpid());
    write_map(path);
    ck_assert_str_eq(profile_text(p, symbolizer_jit_name(s, 0x1000)), "first");
    (void)unlink(path);
    add_nameless(p, s, 0x200000, ROOM);
    ck_assert_uint_eq(symbolizer_unqueued(s), 0);
    add_nameless(p, s, 0x300000, 3);
    ck_assert_uint_eq(symbolizer_unqueued(s), 3);
    symbolizer_free(s);
    profile_free(p);
}
END_TEST

/* ---- roots ---- */

static int descriptors_of_search(pid_t pid)
{
    int before = open("/", O_PATH);
    struct debug_search *search = debug_search_new(pid);
    int after = open("/", O_PATH);
    debug_search_free(search);
    close(before);
    close(after);
    return after - before - 1;
}

/* There may be hundreds of processes. */
START_TEST(a_process_with_our_root_costs_no_descriptor)
{
    ck_assert_int_eq(descriptors_of_search(getpid()), 0);
}
END_TEST

static void live_elsewhere(int told)
{
    char able = unshare(CLONE_NEWNS) == 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (write(told, &able, 1) == 1)
        for (;;)
            (void)pause();
    _exit(1);
}

/* It is held, so that debug files are found there when the process has ended. */
START_TEST(another_root_is_held)
{
    int told[2];
    char able;
    ck_assert_int_eq(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0)
        live_elsewhere(told[1]);
    ck_assert_int_eq(read(told[0], &able, 1), 1);
    if (!check_skips(!able, "not permitted to make a mount namespace"))
        ck_assert_int_eq(descriptors_of_search(pid), 1);
    (void)kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

CHECK_MAIN("symbolizer_live", 40, live_frames_get_their_names,
           what_several_processes_run_is_looked_up_once, a_file_comes_before_an_image_of_it,
           frames_beyond_those_that_wait_for_a_name_are_counted,
           a_process_with_our_root_costs_no_descriptor, another_root_is_held)
