/* Writes the files that the browser test opens into the directory given: small.json and small.svg,
 * with names that a page could stumble over; threads.json, a hundred threads; large.json, ten
 * million nodes before coarsening; empty.json, of which nothing was sampled. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "exporter/exporter.h"
#include "tests/support/profile_builder.h"

static int write_file(struct profile_builder *b, const char *directory, const char *name,
                      int64_t end_ms)
{
    struct view_options options = {0};
    struct export_notes notes;
    struct text path = {0};
    text_addf(&path, "%s/%s", directory, name);
    profile_end(b->p, end_ms * NS_PER_MS);
    FILE *out = fopen(path.s, "w");
    int r =
        out ? exporter_write(exporter_by_path(path.s), b->p, &options, NULL, 0, out, &notes) : -1;
    if (out && fclose(out) != 0)
        r = -1;
    if (r < 0)
        (void)fprintf(stderr, "cannot write %s\n", path.s);
    text_release(&path);
    profile_free(b->p);
    return r;
}

static int write_small(const char *directory, const char *name)
{
    struct profile_builder b = builder_start(6823, "python3 train.py");
    thread_id main = builder_thread(&b, 6823, NULL);
    thread_id worker = builder_thread(&b, 6825, "mge-worker");
    for (int i = 0; i < 50; i++) {
        builder_run(&b, main, "<module>@/src/train.py:1:9 > step@/src/train.py:5:6", 40, 40);
        builder_run(&b, main,
                    "<module>@/src/train.py:1:9 > numpy_of@/src/train.py:2:3 > "
                    "mge::Worker::sync!mge.so > futex [blocked]",
                    160, 0);
        builder_run(&b, worker, "mge::Worker::run!mge.so > Conv<float, 3>::exec!mge.so", 30, 30);
        builder_run(&b, worker,
                    "mge::Worker::run!mge.so > TopK::exec!mge.so > "
                    "cudaGetDeviceProperties!libcudart.so > ioctl /dev/nvidiactl [blocked]",
                    170, 0);
    }
    builder_missed(&b, main, 500);
    builder_run(&b, worker, "odd \xff\xfe \"name\" \\ \x01 \xe2\x80\xa8!mge.so", 100, 100);
    builder_run(&b, worker, "<script>window.wasRun=1;alert(1)</script>!mge.so", 100, 100);
    for (pid_t tid = 6830; tid < 6890; tid++)
        builder_run(&b, builder_thread(&b, tid, "python3 train.py"),
                    "gomp_thread_start!libgomp.so.1 > futex [blocked]", 10500, 0);
    return write_file(&b, directory, name, 10500);
}

static int write_threads(const char *directory)
{
    struct profile_builder b = builder_start(1, "server");
    for (pid_t tid = 1; tid <= 100; tid++) {
        struct text name = {0};
        text_addf(&name, "worker-%d", tid);
        thread_id t = builder_thread(&b, tid, name.s);
        for (int i = 0; i < 100; i++) {
            builder_run(&b, t, "run!server > handle!server", 10, 10);
            builder_run(&b, t, "run!server > wait!server > futex [blocked]", 90, 0);
        }
        text_release(&name);
    }
    return write_file(&b, directory, "threads.json", 10000);
}

static int write_large(const char *directory)
{
    enum { RUNS = 500000, STACKS = 100, DEPTH = 20 };
    struct profile_builder b = builder_start(1, "large");
    thread_id main = builder_thread(&b, 1, NULL);
    stack_id stacks[STACKS] = {{0}};
    for (int i = 0; i < STACKS; i++) {
        struct text name = {0};
        text_addf(&name, "f%d", i);
        frame_id f = profile_mark(b.p, name.s, NULL);
        for (int k = 0; k < DEPTH; k++)
            stacks[i] = profile_push(b.p, stacks[i], f);
        text_release(&name);
    }
    struct run run = {.state = RUN_RUNNING, .weights.wall_ns = INT64_C(10) * NS_PER_MS};
    for (int i = 0; i < RUNS; i++, run.start_ns += run.weights.wall_ns) {
        run.at.stack = stacks[i % 3 ? (i * 7) % STACKS : 0];
        profile_add_run(b.p, main, &run);
    }
    return write_file(&b, directory, "large.json", INT64_C(10) * RUNS);
}

static int write_empty(const char *directory)
{
    struct profile_builder b = builder_start(1, "empty");
    builder_thread(&b, 1, NULL);
    return write_file(&b, directory, "empty.json", 10);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return EXIT_FAILURE;
    if (write_small(argv[1], "small.json") < 0 || write_small(argv[1], "small.svg") < 0 ||
        write_threads(argv[1]) < 0 || write_large(argv[1]) < 0 || write_empty(argv[1]) < 0)
        return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
