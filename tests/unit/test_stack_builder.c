/* From a capture to a stack of the profile, wait and marks included.  What is captured is this
 * process: the stack of the test itself. */
#include "worker/stack_builder.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/recorder.h"
#include "tests/support/check_main.h"

enum { MESSAGE_BYTES = 1 << 20, STACK_BYTES = 1 << 17, CUT_BYTES = 16, DEEPEST = 256 };

static struct {
    struct profile *profile;
    struct target_process process;
    struct waits *waits;
    struct stack_builder *builder;
    struct recorder recorder;
    _Alignas(16) uint8_t message[MESSAGE_BYTES];
    struct regs regs;
    uint64_t return_address; /* of capture() */
} s;

static void set_up(void)
{
    struct err err = {0};
    memset(&s.process, 0, sizeof s.process);
    s.profile = profile_new(0);
    s.process.pid = getpid();
    s.process.profile = s.profile;
    ck_assert_int_eq(mem_live_open(&s.process.live, getpid(), &err), 0);
    s.process.modules = modules_new(getpid(), s.process.live);
    ck_assert_int_eq(modules_refresh(s.process.modules), 0);
    s.process.unwinder = unwinder_new(s.process.modules);
    s.process.symbolizer = symbolizer_new(s.profile, getpid());
    s.process.id = profile_process(s.profile, &(struct profile_process){.pid = getpid()});
    s.waits = waits_new(s.profile, NULL, false);
    s.builder = stack_builder_new(s.profile, NULL, s.waits, &(struct stack_options){0});
    recorder_init(&s.recorder);
}

static void tear_down(void)
{
    stack_builder_free(s.builder);
    waits_free(s.waits);
    target_process_end(&s.process);
    symbolizer_free(s.process.symbolizer);
    modules_free(s.process.modules);
    mem_free(s.process.live);
    profile_free(s.profile);
}

static struct sample_message *message(void)
{
    return (struct sample_message *)(void *)s.message;
}

/* Adds OBJECT, which the thread waits for, and ends the message. */
static struct built_stack build(const char *object)
{
    struct sample_message *m = message();
    m->wait_object_bytes = (uint32_t)strlen(object);
    ck_assert(recorder_append(&s.recorder, object, strlen(object), &m->wait_object_offset));
    ck_assert_uint_ne(recorder_finish(&s.recorder, &m->ranges_offset, &m->range_count), 0);
    return stack_builder_build(s.builder, &s.process, m);
}

/* The registers are those of one instruction of this function: its unwind information is about
 * that.  MOST: of the stack's bytes; PC: instead of that instruction's address, if not 0. */
__attribute__((noinline)) static void capture(enum thread_state state, int64_t syscall, size_t most,
                                              uint64_t pc)
{
    struct sample_message *m = message();
    uint64_t *r = s.regs.r;
    __asm__ volatile("mov %%rbx, %0\n\tmov %%rbp, %1\n\tmov %%rsp, %2\n\tmov %%r12, %3"
                     : "=m"(r[X86_RBX]), "=m"(r[X86_RBP]), "=m"(r[X86_RSP]), "=m"(r[X86_R12]));
    __asm__ volatile("mov %%r13, %0\n\tmov %%r14, %1\n\tmov %%r15, %2"
                     : "=m"(r[X86_R13]), "=m"(r[X86_R14]), "=m"(r[X86_R15]));
    __asm__ volatile("lea 0(%%rip), %0" : "=r"(r[X86_PC]));
    s.return_address = (uint64_t)(uintptr_t)__builtin_return_address(0);
    if (pc)
        r[X86_PC] = pc;
    s.regs.known = 1U << X86_RBX | 1U << X86_RBP | 1U << X86_RSP | 1U << X86_R12 | 1U << X86_R13 |
                   1U << X86_R14 | 1U << X86_R15 | 1U << X86_PC;
    *m = (struct sample_message){.head = {.kind = MESSAGE_SAMPLE, .thread = 1, .tid = getpid()},
                                 .snapshot = {.tid = getpid(), .state = state, .held_ns = 1}};
    m->snapshot.syscall = syscall;
    m->snapshot.regs = s.regs;
    recorder_begin(&s.recorder, s.process.live, m, sizeof *m, MESSAGE_BYTES);
    m->snapshot.stack_start = r[X86_RSP];
    m->snapshot.stack_bytes =
        recorder_read_stack(&s.recorder, r[X86_RSP], most, &(struct prefetch){0});
    m->snapshot.stack_cut = most < STACK_BYTES;
}

/* The frame that STACK has N places outside of its innermost; NULL: it has no so many. */
static const struct frame *frame_of(stack_id stack, size_t n)
{
    while (stack.ix && n--)
        stack = profile_stack_parent(s.profile, stack);
    return stack.ix ? profile_get_frame(s.profile, profile_stack_frame(s.profile, stack)) : NULL;
}

static uint64_t address_of(const struct frame *f)
{
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(f->kind, FRAME_NATIVE);
    return f->native.offset + profile_get_module(s.profile, f->native.module)->bias;
}

/* "": FRAME is no mark. */
static const char *mark_of(const struct frame *frame)
{
    return frame && frame->kind == FRAME_MARK ? profile_text(s.profile, frame->mark.name) : "";
}

static const struct frame *root_of(stack_id stack)
{
    uint32_t depth = profile_stack_depth(s.profile, stack);
    ck_assert_uint_ge(depth, 1);
    return frame_of(stack, depth - 1);
}

START_TEST(each_frame_is_where_its_code_was)
{
    set_up();
    capture(THREAD_RUNNING, -2, STACK_BYTES, 0);
    struct built_stack built = build("");
    ck_assert_uint_eq(address_of(frame_of(built.at.stack, 0)), s.regs.r[X86_PC]);
    ck_assert_uint_eq(address_of(frame_of(built.at.stack, 1)), s.return_address - 1); /* the call */
    ck_assert(spots_are_same(built.at, built.settled));
    ck_assert(built.complete);
    ck_assert_str_eq(mark_of(root_of(built.at.stack)), "");
    tear_down();
}
END_TEST

START_TEST(a_cut_stack_is_marked_at_its_root)
{
    set_up();
    capture(THREAD_RUNNING, -2, CUT_BYTES, 0);
    struct built_stack built = build("");
    ck_assert_uint_eq(address_of(frame_of(built.at.stack, 0)), s.regs.r[X86_PC]);
    ck_assert_str_eq(mark_of(root_of(built.at.stack)), "[truncated]");
    ck_assert(!built.complete);
    tear_down();
}
END_TEST

START_TEST(a_thread_that_was_not_held_says_so)
{
    set_up();
    capture(THREAD_RUNNING, -2, STACK_BYTES, 0);
    message()->head.flags = SAMPLE_NOT_HELD;
    struct built_stack built = build("");
    ck_assert_str_eq(mark_of(frame_of(built.at.stack, 0)), "[native frames not read]");
    ck_assert(!built.complete);
    tear_down();
}
END_TEST

START_TEST(frames_that_are_not_shown_are_not_missed)
{
    set_up();
    stack_builder_free(s.builder);
    s.builder =
        stack_builder_new(s.profile, NULL, s.waits, &(struct stack_options){.no_native = true});
    capture(THREAD_RUNNING, -2, STACK_BYTES, 0);
    message()->head.flags = SAMPLE_NOT_HELD;
    struct built_stack built = build("");
    ck_assert_str_eq(mark_of(frame_of(built.at.stack, 0)), "[not shown]");
    tear_down();
}
END_TEST

/* Code in no file, which no call was made from: the caller is found by a look through the stack. */
START_TEST(guessed_frames_are_marked_and_a_doubt)
{
    enum { PAGE = 4096 };
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    set_up();
    capture(THREAD_RUNNING, -2, STACK_BYTES, (uint64_t)(uintptr_t)page + PAGE / 2);
    struct built_stack built = build("");
    size_t guessed = 0;
    for (size_t i = 0; i < DEEPEST; i++) {
        const struct frame *f = frame_of(built.at.stack, i);
        guessed += f && f->flags & FRAME_IS_GUESSED;
    }
    ck_assert_uint_ge(guessed, 1);
    ck_assert(!built.complete);
    stack_builder_report(s.builder, s.profile);
    ck_assert_double_eq(profile_number(s.profile, METRIC_FRAMES_GUESSED), (double)guessed);
    ck_assert_double_eq(profile_number(s.profile, METRIC_STACKS_NOT_COMPLETE), 1);
    tear_down();
    (void)munmap(page, PAGE);
}
END_TEST

static const struct wait *wait_of(struct built_stack built)
{
    const struct wait *wait = profile_see_wait(s.profile, built.at.wait);
    ck_assert_ptr_nonnull(wait);
    ck_assert_uint_eq(built.at.stack.ix, built.settled.stack.ix);
    return wait;
}

/* The kernel names no function in which this thread sleeps, because it runs. */
START_TEST(a_wait_outside_of_any_call_is_for_what_the_kernel_says)
{
    set_up();
    capture(THREAD_BLOCKED, -1, STACK_BYTES, 0);
    ck_assert_int_eq(wait_of(build(""))->kind, WAIT_UNKNOWN);
    tear_down();
}
END_TEST

START_TEST(files_have_a_mount_and_devices_none)
{
    set_up();
    capture(THREAD_BLOCKED, SYS_read, STACK_BYTES, 0);
    const struct wait *file = wait_of(build("/proc/self/status"));
    ck_assert_int_eq(file->kind, WAIT_CALL);
    ck_assert_str_eq(profile_text(s.profile, file->call), "read");
    ck_assert_uint_ne(file->mount.ix, 0);
    const struct profile_mount *mount = profile_see_mount(s.profile, file->mount);
    ck_assert_str_eq(profile_text(s.profile, mount->point), "/proc");
    capture(THREAD_BLOCKED, SYS_read, STACK_BYTES, 0);
    const struct wait *device = wait_of(build("/dev/null"));
    ck_assert_str_eq(profile_text(s.profile, device->object), "/dev/null");
    ck_assert_uint_eq(device->mount.ix, 0);
    capture(THREAD_BLOCKED, SYS_read, STACK_BYTES, 0);
    const struct wait *pipe = wait_of(build("pipe:[123]"));
    ck_assert_str_eq(profile_text(s.profile, pipe->object), "pipe");
    tear_down();
}
END_TEST

CHECK_MAIN("stack_builder", 20, each_frame_is_where_its_code_was, a_cut_stack_is_marked_at_its_root,
           a_thread_that_was_not_held_says_so, frames_that_are_not_shown_are_not_missed,
           guessed_frames_are_marked_and_a_doubt,
           a_wait_outside_of_any_call_is_for_what_the_kernel_says,
           files_have_a_mount_and_devices_none)
