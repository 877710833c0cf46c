/* The worker's whole path on a message from the sampler whose target is hostile: its registers, its
 * stack and its Python are the input's; the code is this program's own. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/answer.h"
#include "pyframes/py_capture.h"
#include "sampler/recorder.h"
#include "tests/fuzz/py_image.h"
#include "worker/stack_builder.h"

enum { MESSAGE_BYTES = 1 << 18, MAX_SAMPLES = 4, STACK_WORDS = 96, WIDTH = 79 };

static struct {
    struct py_image image;
    struct recorder recorder;
    _Alignas(16) uint8_t message[MESSAGE_BYTES];
    /* Of this program: the same for all inputs. */
    struct mem *live;
    struct modules *modules;
} s;

/* Code that stacks return to: ours with and without frames, libc's, the dynamic linker's. */
static uint64_t any_code(struct feed *f)
{
    static void *const places[] = {(void *)LLVMFuzzerTestOneInput,
                                   (void *)stack_builder_build,
                                   (void *)py_walk,
                                   (void *)qsort,
                                   (void *)memcpy,
                                   (void *)view_stack,
                                   (void *)getpid,
                                   (void *)answer_write};
    uint64_t place = (uint64_t)(uintptr_t)places[feed_u8(f) % (sizeof places / sizeof *places)];
    return place + feed_u8(f);
}

static uint64_t any_word(struct feed *f)
{
    uint8_t how = feed_u8(f) % 4;
    return how == 0   ? any_code(f)
           : how == 1 ? IMAGE_STACK + 8U * feed_u8(f)
           : how == 2 ? py_image_address(&s.image, f)
                      : feed_u8(f);
}

static void make_stack(struct feed *f)
{
    for (uint64_t n = feed_u8(f) % STACK_WORDS, i = 0; i < n; i++) {
        uint64_t word = any_word(f);
        memcpy(s.image.bytes + (IMAGE_STACK - IMAGE_BASE) + 8 * (feed_u8(f) % STACK_WORDS), &word,
               sizeof word);
    }
}

static void make_snapshot(struct feed *f, struct snapshot *ret)
{
    uint8_t how = feed_u8(f);
    *ret = (struct snapshot){.tid = IMAGE_TID, .state = feed_u8(f) % 5, .held_ns = how & 1};
    ret->syscall = (int64_t)(feed_u16(f) % 512) - 2;
    ret->syscall_args[0] = py_image_address(&s.image, f);
    for (unsigned i = 0; i < X86_COUNT; i++)
        ret->regs.r[i] = how & 2 ? any_word(f) : IMAGE_STACK + 64;
    ret->regs.r[X86_RSP] = how & 4 ? any_word(f) : IMAGE_STACK + 8U * (how >> 4);
    ret->regs.r[X86_PC] = any_code(f);
    ret->regs.known = how & 1 ? (1U << X86_COUNT) - 1 : 1U << X86_RSP | 1U << X86_PC;
    ret->fs_base = how & 8 ? IMAGE_PTHREAD : 0;
    ret->taken_ns = how & 128 ? 0 : INT64_MAX;
}

/* As sampler/capture.c does it.  NULL: it does not fit. */
static const struct sample_message *capture(struct feed *f, struct py_capture *hook)
{
    struct sample_message *m = (struct sample_message *)(void *)s.message;
    struct recorder *r = &s.recorder;
    struct prefetch prefetch = {0};
    *m = (struct sample_message){.head = {.kind = MESSAGE_SAMPLE, .thread = 1, .tid = IMAGE_TID}};
    m->head.flags = feed_u8(f) & (SAMPLE_APPROXIMATE | SAMPLE_NOT_HELD);
    make_snapshot(f, &m->snapshot);
    py_capture_tick(hook, &s.image.mem);
    recorder_begin(r, &s.image.mem, m, sizeof *m, MESSAGE_BYTES);
    m->snapshot.stack_start = m->snapshot.regs.r[X86_RSP];
    m->snapshot.stack_bytes =
        recorder_read_stack(r, m->snapshot.stack_start, 16U * feed_u8(f), &prefetch);
    m->snapshot.stack_cut = feed_u8(f) & 1;
    m->snapshot.n_hook_words =
        py_capture_thread(hook, &r->mem, IMAGE_TID, m->snapshot.fs_base, m->snapshot.hook_words,
                          SNAPSHOT_HOOK_WORDS, &m->snapshot.incomplete);
    return recorder_finish(r, &m->ranges_offset, &m->range_count) ? m : NULL;
}

static void once(void)
{
    if (s.modules)
        return;
    FUZZ_CHECK(mem_live_open(&s.live, getpid(), NULL) == 0);
    s.modules = modules_new(getpid(), s.live);
    FUZZ_CHECK(modules_refresh(s.modules) == 0);
}

static void report(struct profile *p)
{
    struct groups groups;
    struct table table;
    struct text said = {0};
    struct view_options view = {0};
    profile_end(p, NS_PER_S);
    groups_init(&groups, p, &view);
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    answer_write(&table, WIDTH, &said);
    text_release(&said);
    table_release(&table);
    groups_release(&groups);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feed f = {bytes, len};
    once();
    py_image_init(&s.image, &f);
    recorder_init(&s.recorder);
    struct profile *p = profile_new(0);
    struct target_process process = {
        .pid = getpid(), .profile = p, .live = &s.image.mem, .modules = s.modules};
    process.unwinder = unwinder_new(s.modules);
    process.symbolizer = symbolizer_new(p, getpid());
    process.id = profile_process(p, &(struct profile_process){.pid = getpid()});
    struct py_runtime *runtime = xmalloc(sizeof *runtime);
    *runtime = s.image.rt;
    struct python *python = python_new(&process, runtime);
    process.python = feed_u8(&f) % 4 ? python : NULL;
    struct waits *waits = waits_new(p, NULL, false);
    struct stack_builder *builder =
        stack_builder_new(p, NULL, waits, &(struct stack_options){.gil_only = feed_u8(&f) > 240});
    thread_id thread = profile_thread(p, process.id, IMAGE_TID, (string_id){0}, 0);
    for (int i = 0; i < MAX_SAMPLES && f.left; i++) {
        make_stack(&f);
        const struct sample_message *m = capture(&f, python->capture);
        struct built_stack built =
            m ? stack_builder_build(builder, &process, m) : (struct built_stack){0};
        struct run run = {.at = built.at, .samples = 1, .start_ns = i, .weights.wall_ns = 1};
        run.state = spot_is_known(built.at) ? RUN_RUNNING : RUN_MISSED;
        profile_add_run(p, thread, &run);
        py_image_change(&s.image, &f);
    }
    stack_builder_report(builder, p);
    report(p);
    stack_builder_free(builder);
    waits_free(waits);
    symbolizer_free(process.symbolizer);
    unwinder_free(process.unwinder);
    map_release(&process.module_ids);
    map_release(&process.frame_ids);
    python_free(python);
    profile_free(p);
    return 0;
}
