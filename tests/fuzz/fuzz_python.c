/* From a CPython's memory to a merged stack, as in a recording: thread table, capture, walk, code
 * objects, merge, who has a lock; twice over, with changes in between. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "pyframes/py_capture.h"
#include "pyframes/py_code.h"
#include "pyframes/py_gil.h"
#include "pyframes/py_locals.h"
#include "pyframes/py_lock.h"
#include "pyframes/py_merge.h"
#include "sampler/recorder.h"
#include "tests/fuzz/py_image.h"

enum { MAX_NATIVE = 12, MAX_PYTHON = 64, MAX_STATES = 8, MESSAGE_BYTES = 1 << 18, NOTES = 8 };

static struct {
    struct py_image image;
    struct recorder recorder;
    _Alignas(16) uint8_t message[MESSAGE_BYTES];
    struct native_frame native[MAX_NATIVE];
    struct py_frame python[MAX_PYTHON];
    struct merged_frame merged[2 * MAX_NATIVE + MAX_PYTHON + NOTES];
    struct profile *profile;
    struct py_capture *capture;
    struct py_codes *codes;
    struct py_merger *merger;
} s;

static void make_native(struct feed *f, struct native_stack *ret)
{
    *ret = (struct native_stack){.frames = s.native, .capacity = MAX_NATIVE};
    ret->end = feed_u8(f) % UNWIND_END_COUNT;
    ret->n = feed_u8(f) % MAX_NATIVE;
    uint64_t sp = IMAGE_STACK - 0x100;
    for (size_t i = 0; i < ret->n; i++) {
        struct native_frame *frame = &s.native[i];
        uint8_t how = feed_u8(f);
        *frame = (struct native_frame){.pc = feed_u16(f), .sp = sp, .cfa = sp + 8 * feed_u8(f)};
        frame->function = how & 1 ? IMAGE_CODE : frame->pc & ~255U;
        frame->is_call = how & 2;
        frame->trust = (how >> 2 & 3) % (FRAME_GUESSED + 1);
        for (unsigned reg = 0; how & 16 && reg < X86_COUNT; reg++)
            frame->regs.r[reg] = py_image_address(&s.image, f);
        frame->regs.known = how & 16 ? feed_u32(f) & ((1U << X86_COUNT) - 1) : 0;
        sp = how & 32 ? py_image_address(&s.image, f) : frame->cfa;
        if (how & 64)
            frame->cfa = py_image_address(&s.image, f);
    }
}

/* Of frame I. */
static bool is_elsewhere(const struct py_stack *python, const struct merged_stack *merged, size_t i)
{
    size_t k = 0;
    while (k < python->n_states && i >= python->state_ends[k])
        k++;
    return merged->elsewhere >> k & 1;
}

/* Every Python frame comes out once, unless another thread runs it; native ones that were not
 * replaced in their order. */
static void check_merged(const struct native_stack *native, const struct py_stack *python,
                         const struct merged_stack *merged)
{
    uint64_t seen = 0;
    uint32_t next = 0;
    FUZZ_CHECK(merged->n <= py_merge_room(native->n, python->n));
    for (size_t i = 0; i < merged->n; i++) {
        const struct merged_frame *m = &merged->frames[i];
        if (m->kind == MERGED_NOTE) {
            FUZZ_CHECK(m->note && m->note[0]);
        } else if (m->kind == MERGED_NATIVE) {
            FUZZ_CHECK(m->index >= next && m->index < native->n);
            next = m->index + 1;
        } else {
            FUZZ_CHECK(m->index < python->n && !(seen & UINT64_C(1) << m->index));
            seen |= UINT64_C(1) << m->index;
        }
    }
    for (size_t i = 0; i < python->n; i++)
        FUZZ_CHECK((seen >> i & 1) != is_elsewhere(python, merged, i));
}

static void name_frames(struct mem *mem, int64_t taken_ns, const struct py_stack *python)
{
    py_codes_check(s.codes, mem, taken_ns, python);
    for (size_t i = 0; i < python->n; i++) {
        frame_id id = {0};
        bool hidden = false;
        (void)py_code_resolve(s.codes, mem, &python->frames[i], &id, &hidden);
        FUZZ_CHECK(id.ix || hidden);
    }
}

/* Whatever the values are, the text is short and gives a terminal no orders. */
static void tell_arguments(struct mem *mem, const struct py_stack *python)
{
    enum { MOST_BYTES = 16384 };
    struct py_locals locals = {0};
    for (size_t i = 0; i < python->n; i++) {
        py_locals_add(&locals, &s.image.rt, mem, &python->frames[i], true);
        const struct text *text = &locals.frames[i];
        FUZZ_CHECK(text->len < MOST_BYTES && strlen(text->s) == text->len);
        for (const char *at = text->s; *at; at++)
            FUZZ_CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
    }
    for (size_t i = 0; i < locals.n_variables; i++) {
        const struct py_local *v = &locals.variables[i];
        FUZZ_CHECK(v->frame < locals.n && strlen(v->name) + strlen(v->value) < MOST_BYTES);
        for (const char *at = v->value; *at; at++)
            FUZZ_CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
    }
    py_locals_release(&locals);
}

/* Whoever it is that has a lock, the search ends. */
static void find_lock(struct feed *f, const struct py_stack *python)
{
    static struct py_frame frames[MAX_PYTHON];
    struct py_stack scratch = {.frames = frames, .capacity = MAX_PYTHON};
    struct mem *live = &s.image.mem;
    uint64_t sem = py_image_address(&s.image, f);
    uint64_t holder;
    struct py_lock lock;
    if (!python->n || py_lock_find(&s.image.rt, live, &python->frames[0], sem, &lock) < 0)
        lock = (struct py_lock){py_image_address(&s.image, f), sem & 8};
    if (py_lock_holder(&s.image.rt, live, &lock, sem, &scratch, &holder) == 0)
        FUZZ_CHECK(holder || !lock.reentrant);
    FUZZ_CHECK(scratch.n <= MAX_PYTHON);
}

static void sample(struct feed *f)
{
    uint64_t states[MAX_STATES];
    bool incomplete = false;
    struct prefetch prefetch = {0};
    uint8_t how = feed_u8(f);
    py_capture_tick(s.capture, &s.image.mem);
    recorder_begin(&s.recorder, &s.image.mem, s.message, 64, how & 1 ? MESSAGE_BYTES : 4096);
    (void)recorder_read_stack(&s.recorder, py_image_address(&s.image, f), 8U * feed_u8(f),
                              &prefetch);
    uint64_t fs_base = how & 2 ? py_image_address(&s.image, f) : how & 4 ? IMAGE_PTHREAD : 0;
    uint32_t n = py_capture_thread(s.capture, &s.recorder.mem, IMAGE_TID + (how >> 3 & 1), fs_base,
                                   states, MAX_STATES, &incomplete);
    FUZZ_CHECK(n <= MAX_STATES);
    if (how & 16)
        py_capture_undo(s.capture);
    recorder_remember(&s.recorder, &prefetch);
    uint32_t ranges, count;
    size_t bytes = recorder_finish(&s.recorder, &ranges, &count);
    if (!bytes)
        return;
    struct snapshot_mem recorded;
    snapshot_mem_init(&recorded, s.message, (struct snapshot_range *)(void *)(s.message + ranges),
                      count);
    struct py_stack python = {.frames = s.python, .capacity = MAX_PYTHON};
    (void)py_walk(&s.image.rt, &recorded.mem, states, n, &python);
    FUZZ_CHECK(python.n <= MAX_PYTHON);
    (void)py_gil_state(&s.image.rt, &recorded.mem, states, n, how & 32 ? SYS_futex : -1, IMAGE_GIL);
    name_frames(&recorded.mem, how & 64 ? 0 : INT64_MAX, &python);
    tell_arguments(&recorded.mem, &python);
    struct native_stack native;
    make_native(f, &native);
    struct merged_stack merged = {.frames = s.merged,
                                  .capacity = sizeof s.merged / sizeof *s.merged};
    py_merge(s.merger, &recorded.mem, &native, &python, (int64_t)(how >> 5) - 1, &merged);
    check_merged(&native, &python, &merged);
    find_lock(f, &python);
}

/* Names are text by now, whatever the target had. */
static void check_names(void)
{
    for (uint32_t i = 1; i <= profile_frame_count(s.profile); i++) {
        const struct frame *frame = profile_get_frame(s.profile, (frame_id){i});
        if (frame->kind != FRAME_PYTHON)
            continue;
        const struct func *func = profile_get_func(s.profile, frame->python.func);
        FUZZ_CHECK(strlen(profile_text(s.profile, func->name)) < 1 << 16);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feed f = {bytes, len};
    py_image_init(&s.image, &f);
    recorder_init(&s.recorder);
    s.profile = profile_new(0);
    s.capture = py_capture_new(&s.image.rt, NULL);
    py_capture_locals(s.capture, true);
    s.codes = py_codes_new(&s.image.rt, &s.image.mem, s.profile, NULL);
    s.merger = py_merger_new(&s.image.rt);
    sample(&f);
    py_image_change(&s.image, &f);
    sample(&f);
    check_names();
    py_merger_free(s.merger);
    py_codes_free(s.codes);
    py_capture_free(s.capture);
    profile_free(s.profile);
    return 0;
}
