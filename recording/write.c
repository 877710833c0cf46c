/* All of a profile, into a sink. */
#include <errno.h>

#include "profile/kept.h"
#include "recording/recording_file.h"
#include "recording/sink.h"
#include "recording/store.h"

static void put_facts(struct sink *s, const struct profile *p)
{
    size_t n;
    const struct profile_metadatum *texts = profile_metadata(p, &n);
    for (size_t i = 0; i < n; i++)
        sink_text(s, texts[i].key, profile_text(p, texts[i].text));
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++)
        sink_metric(s, m, profile_number(p, m));
    const struct lock_name *locks = profile_lock_names(p, &n);
    for (size_t i = 0; i < n; i++)
        sink_lock(s, (uint32_t)i + 1, &locks[i]);
    const struct listener *listeners = profile_listeners(p, &n);
    for (size_t i = 0; i < n; i++)
        sink_listener(s, (uint32_t)i + 1, &listeners[i]);
    sink_origin(s, profile_origin(p));
    sink_exact_time(s, profile_exact_time(p));
    sink_host(s, profile_see_host(p));
}

static void put_moments(struct sink *s, const struct profile *p)
{
    size_t n;
    const struct user_mark *marks = profile_marks(p, &n);
    for (size_t i = 0; i < n; i++)
        sink_mark(s, (uint32_t)i + 1, &marks[i]);
    const struct user_pause *pauses = profile_pauses(p, &n);
    for (size_t i = 0; i < n; i++)
        sink_pause(s, (uint32_t)i + 1, &pauses[i]);
}

static void put_stacks(struct sink *s, const struct profile *p)
{
    for (uint32_t i = 1; i <= profile_module_count(p); i++)
        sink_module(s, (module_id){i}, profile_get_module(p, (module_id){i}));
    for (uint32_t i = 1; i <= profile_func_count(p); i++)
        sink_function(s, (func_id){i}, profile_get_func(p, (func_id){i}));
    for (uint32_t i = 1; i <= profile_frame_count(p); i++) {
        size_t n;
        const struct location *locations = profile_locations(p, (frame_id){i}, &n);
        sink_frame(s, (frame_id){i}, profile_get_frame(p, (frame_id){i}));
        sink_locations(s, (frame_id){i}, locations, n);
    }
    for (uint32_t i = 1; i <= profile_stack_count(p); i++)
        sink_stack(s, (stack_id){i}, profile_stack_parent(p, (stack_id){i}),
                   profile_stack_frame(p, (stack_id){i}));
}

static void put_waits(struct sink *s, const struct profile *p)
{
    size_t n;
    for (uint32_t i = 1; i <= profile_mount_count(p); i++)
        sink_mount(s, (mount_id){i}, profile_see_mount(p, (mount_id){i}));
    for (uint32_t i = 1; i <= profile_wait_count(p); i++)
        sink_wait(s, (wait_id){i}, profile_see_wait(p, (wait_id){i}));
    const struct profile_task_wait *tasks = profile_task_waits(p, &n);
    for (size_t i = 0; i < n; i++)
        sink_tasks(s, (uint32_t)i + 1, &tasks[i]);
}

static void put_threads(struct sink *s, const struct profile *p, const bool *processes)
{
    uint32_t n = 0;
    uint64_t runs = 0;
    for (uint32_t i = 1; i <= profile_process_count(p); i++) {
        const struct profile_process *process = profile_see_process(p, (process_id){i});
        sink_process(s, (process_id){i}, process);
        sink_children(s, (process_id){i}, process);
    }
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        if (!t->process.ix) /* an id that stands for no thread */
            continue;
        if (processes && !processes[t->process.ix])
            continue;
        thread_id id = {++n};
        sink_thread(s, id, t);
        for (size_t k = 0; k < t->n_marks; k++)
            sink_count(s, id, k, &t->marks[k]);
        for (size_t k = 0; k < t->n_runs; k++)
            sink_run(s, ++runs, id, &t->runs[k]);
    }
}

static int write_bytes(struct store *store, FILE *out, struct err *err)
{
    size_t len = 0;
    const unsigned char *bytes = store_bytes(store, &len);
    if (!bytes)
        return err_set(err, -ENOMEM, "SQLite: %s", "out of memory");
    if (fwrite(bytes, 1, len, out) != len || fflush(out) != 0)
        return errno ? -errno : -EIO; /* who has the file says so */
    return 0;
}

static void store_entry(void *store, const char *bytes, size_t len)
{
    struct entry entry;
    if (entry_parse(&entry, bytes, len) > 0)
        store_take(store, &entry);
}

/* Returns as store_end(). */
static int put_all(struct store *store, const struct profile *p, const bool *processes,
                   struct err *err)
{
    struct sink *s = sink_new(p, (struct sink_to){store_entry, store});
    put_facts(s, p);
    put_moments(s, p);
    put_stacks(s, p);
    put_waits(s, p);
    put_threads(s, p, processes);
    sink_free(s);
    return store_end(store, profile_end_ns(p), err);
}

int recording_file_write(const struct profile *p, const bool *processes, FILE *out, struct err *err)
{
    struct store *store = store_new();
    int r = put_all(store, p, processes, err);
    if (r == 0)
        r = write_bytes(store, out, err);
    store_free(store);
    return r;
}

struct profile *recording_copy(const struct profile *p, struct err *err)
{
    size_t len = 0;
    struct profile *copy = NULL;
    struct store *store = store_new();
    const unsigned char *bytes =
        put_all(store, p, NULL, err) == 0 ? store_bytes(store, &len) : NULL;
    if (bytes)
        copy = recording_bytes_read(bytes, len, "the copy", err);
    store_free(store);
    return copy;
}
