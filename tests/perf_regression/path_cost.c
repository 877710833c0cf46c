/* The pure path of a sample, for an instruction counter.
 *
 * path_cost capture PID FILE    takes one snapshot of process PID's main thread into FILE
 * path_cost stack PID FILE      makes a stack of that snapshot, over and over, each as if it were
 *                               the thread's first
 * path_cost again PID FILE      the same, each as one whose outer part is as it was
 * path_cost lookup              looks keys up in a hash map: the unit that the stack is measured by
 *
 * The counter is to count inside of measured_stack() and measured_lookup() only (cost.py).  "stack"
 * says how many stacks that were, of how many native and Python frames. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "target/elf_store.h"
#include "worker/recording.h"

enum { STACKS = 50, LOOKUPS = 1000, KEYS = 512 };

void measured_stack(struct stack_builder *st, struct target_process *s,
                    const struct sample_message *m, struct built_stack *ret);
uint64_t measured_lookup(const struct map *map);

static const struct sampler_config one_shot = {.rate_hz = 100, .max_held = 1, .single_shot = true};

/* ---- capture ---- */

struct capture {
    pid_t tid;
    FILE *file;
};

static void keep(void *ctx, thread_id thread, const struct sample_message *m,
                 const struct built_stack *s)
{
    struct capture *c = ctx;
    size_t len = m->ranges_offset + m->range_count * sizeof(struct snapshot_range);
    (void)thread;
    if (m->head.tid != c->tid || m->head.flags & SAMPLE_NO_STACK || !s->python)
        return;
    rewind(c->file);
    if (fwrite(m, 1, len, c->file) != len)
        abort();
}

static int capture(pid_t pid, const char *path)
{
    struct recording_config config = {.sampler = one_shot};
    struct capture c = {pid, fopen(path, "wb")};
    struct recording *r = recording_new(&config);
    struct err err = {0};
    recording_on_sample(r, keep, &c);
    if (!c.file || recording_add(r, pid, &err) < 0 || recording_start(r, &err) < 0) {
        (void)fprintf(stderr, "%s: %s\n", path, err.text);
        return EXIT_FAILURE;
    }
    recording_finish(r, NULL, NULL);
    recording_free(r);
    return fclose(c.file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- stack ---- */

__attribute__((noinline)) void measured_stack(struct stack_builder *st, struct target_process *s,
                                              const struct sample_message *m,
                                              struct built_stack *ret)
{
    *ret = stack_builder_build(st, s, m);
}

static void *read_all(const char *path, size_t *ret_len)
{
    FILE *f = fopen(path, "rb");
    size_t capacity = 64 << 20;
    void *bytes = xmalloc(capacity);
    *ret_len = f ? fread(bytes, 1, capacity, f) : 0;
    if (f)
        (void)fclose(f);
    return bytes;
}

static uint32_t python_frames(const struct profile *p, stack_id s)
{
    uint32_t n = 0;
    for (; s.ix; s = profile_stack_parent(p, s))
        n += profile_get_frame(p, profile_stack_frame(p, s))->kind == FRAME_PYTHON;
    return n;
}

static int stack(pid_t pid, const char *path, bool again)
{
    struct profile *p = profile_new(0);
    struct target_process *s = NULL;
    struct built_stack built = {0};
    size_t len = 0;
    void *file = read_all(path, &len);
    void *message = xmalloc(len);                     /* whose ranges are sorted in place */
    struct sampler *sampler = sampler_new(&one_shot); /* never started: takes the hook */
    struct elf_store *files = elf_store_new();
    const struct target_shared shared = {.sampler = sampler, .profile = p, .files = files};
    if (!len || target_process_open(&s, pid, 0, &shared, NULL) < 0)
        return EXIT_FAILURE;
    target_process_refresh(s, clock_now_ns());
    struct waits *waits = waits_new(p, NULL, false);
    struct stack_builder *st = stack_builder_new(p, NULL, waits, &(struct stack_options){0});
    ((struct sample_message *)file)->snapshot.taken_ns = 0;
    (void)stack_builder_build(st, s, memcpy(message, file, len)); /* rules, code objects: once */
    (void)stack_builder_build(st, s, memcpy(message, file, len)); /* code objects: checked */
    uint64_t frames = unwinder_counters(s->unwinder)->frames;
    for (int i = 0; i < STACKS; i++) {
        if (!again)
            unwinder_maps_same(s->unwinder);
        measured_stack(st, s, memcpy(message, file, len), &built);
    }
    frames = unwinder_counters(s->unwinder)->frames - frames;
    printf("%d %llu %u\n", STACKS, (unsigned long long)frames / STACKS,
           python_frames(p, built.at.stack));
    stack_builder_free(st);
    waits_free(waits);
    sampler_free(sampler);
    target_process_free(s);
    elf_store_free(files);
    profile_free(p);
    free(message);
    free(file);
    return built.python ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- lookup ---- */

__attribute__((noinline)) uint64_t measured_lookup(const struct map *map)
{
    uint64_t sum = 0;
    uint64_t value = 0;
    for (uint64_t i = 0; i < LOOKUPS; i++)
        sum += map_get(map, i * 64 % ((uint64_t)KEYS * 64), &value) ? value : 0;
    return sum;
}

static int lookup(void)
{
    struct map map = {0};
    for (uint64_t i = 0; i < KEYS; i++)
        map_put(&map, i * 64, i);
    uint64_t sum = measured_lookup(&map);
    map_release(&map);
    printf("%d\n", LOOKUPS);
    return sum ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    int64_t pid = 0;
    if (argc == 2 && str_eq(argv[1], "lookup"))
        return lookup();
    if (argc != 4 || parse_whole_i64(argv[2], 1, INT32_MAX, &pid) < 0)
        return EXIT_FAILURE;
    if (str_eq(argv[1], "capture"))
        return capture((pid_t)pid, argv[3]);
    return stack((pid_t)pid, argv[3], str_eq(argv[1], "again"));
}
