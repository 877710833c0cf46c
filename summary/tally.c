#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "summary/call_tree.h"

struct interval *interval_add(struct interval *all, size_t *n, size_t *capacity,
                              const struct run *run)
{
    all = array_reserve(all, capacity, *n + 1, sizeof *all);
    all[(*n)++] = (struct interval){run->start_ns, run->start_ns + run->weights.wall_ns};
    return all;
}

int64_t intervals_ns(const struct interval *intervals, size_t n)
{
    int64_t ns = 0;
    for (size_t i = 0; i < n; i++)
        ns += intervals[i].end_ns - intervals[i].start_ns;
    return ns;
}

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a;
    const struct interval *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

size_t intervals_unite(struct interval *all, size_t n)
{
    size_t ends = 0;
    if (n)
        qsort(all, n, sizeof *all, by_start);
    for (size_t i = 1; i < n; i++)
        if (all[i].start_ns <= all[ends].end_ns)
            all[ends].end_ns = max_i64(all[ends].end_ns, all[i].end_ns);
        else
            all[++ends] = all[i];
    return n ? ends + 1 : 0;
}

void tally_init(struct tally *t, struct call_tree *tree, unsigned states)
{
    *t = (struct tally){.tree = tree, .states = states};
}

void tally_release(struct tally *t)
{
    free(t->self_ns);
    free(t->total_ns);
    free(t->spans);
    *t = (struct tally){0};
}

/* Makes room for all nodes that there are by now. */
static void grow(struct tally *t)
{
    size_t n = call_tree_count(t->tree) + 1;
    if (n <= t->n)
        return;
    n += n / 8; /* many stacks add a node each */
    t->self_ns = xrealloc(t->self_ns, n * sizeof *t->self_ns);
    memset(t->self_ns + t->n, 0, (n - t->n) * sizeof *t->self_ns);
    t->n = n;
    t->totalled = false;
}

static int64_t overlap(const struct run *run, const struct interval *interval)
{
    int64_t end_ns = run->start_ns + run->weights.wall_ns;
    return max_i64(min_i64(interval->end_ns, end_ns) - max_i64(interval->start_ns, run->start_ns),
                   0);
}

static bool is_skipped(const struct tally *t, const struct run *run)
{
    const struct wait *wait =
        t->skipped_waits ? profile_see_wait(call_tree_profile(t->tree), run->at.wait) : NULL;
    return wait && t->skipped_waits >> wait->kind & 1;
}

/* How much of RUN lies in SPAN, if it counts. */
static int64_t part_of(const struct tally *t, const struct time_span *span, const struct run *run)
{
    if (run->state == RUN_MISSED || !(t->states >> run->state & 1) || is_skipped(t, run))
        return 0;
    if (!span->intervals)
        return run_weight(run, t->weight);
    size_t low = 0; /* the first interval that ends after the run's start */
    for (size_t high = span->n; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (span->intervals[middle].end_ns <= run->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t ns = 0;
    for (; low < span->n && overlap(run, &span->intervals[low]) > 0; low++)
        ns += overlap(run, &span->intervals[low]);
    return ns;
}

static void add_span(struct tally *t, const struct profile_thread *thread,
                     const struct interval *intervals, size_t n)
{
    const struct time_span span = {thread, intervals, n};
    t->spans = array_reserve(t->spans, &t->spans_capacity, t->n_spans + 1, sizeof *t->spans);
    t->spans[t->n_spans++] = span;
    t->totalled = false;
    for (size_t i = 0; i < thread->n_runs; i++) {
        int64_t ns = part_of(t, &span, &thread->runs[i]);
        if (ns == 0)
            continue;
        uint32_t node = call_tree_of(t->tree, thread->runs[i].at);
        grow(t);
        if (call_tree_node(t->tree, node).idle)
            t->idle_ns += ns;
        else
            t->self_ns[node] += ns;
        t->all_ns += ns;
        t->samples += thread->runs[i].samples;
    }
}

void tally_add(struct tally *t, const struct profile_thread *thread,
               const struct interval *intervals, size_t n)
{
    assert(intervals && n); /* none would be all of the thread's time */
    add_span(t, thread, intervals, n);
}

void tally_add_thread(struct tally *t, const struct profile_thread *thread)
{
    add_span(t, thread, NULL, 0);
}

/* A parent comes before its children. */
static void total(struct tally *t)
{
    if (t->totalled)
        return;
    grow(t);
    t->total_ns = xrealloc(t->total_ns, t->n * sizeof *t->total_ns);
    memcpy(t->total_ns, t->self_ns, t->n * sizeof *t->total_ns);
    for (uint32_t node = call_tree_count(t->tree); node; node--)
        t->total_ns[call_tree_node(t->tree, node).parent] += t->total_ns[node];
    t->totalled = true;
}

int64_t tally_self(struct tally *t, uint32_t node)
{
    grow(t);
    return t->self_ns[node];
}

int64_t tally_total(struct tally *t, uint32_t node)
{
    if (node >= t->n)
        t->totalled = false;
    total(t);
    return t->total_ns[node];
}

typedef void see_run(void *ctx, const struct run *run, uint32_t node, int64_t ns);

/* Calls SEE for each run that has time, and the node of its stack. */
static void each_run(struct tally *t, see_run *see, void *ctx)
{
    for (size_t i = 0; i < t->n_spans; i++) {
        const struct profile_thread *thread = t->spans[i].thread;
        for (size_t k = 0; k < thread->n_runs; k++) {
            int64_t ns = part_of(t, &t->spans[i], &thread->runs[k]);
            if (ns > 0)
                see(ctx, &thread->runs[k], call_tree_of(t->tree, thread->runs[k].at), ns);
        }
    }
}

/* ---- lines ---- */

struct lines {
    struct call_tree *tree;
    const uint32_t *frames;
    uint32_t best;
    int64_t best_ns;
    struct map of_spot, sums; /* line by spot; time by line */
};

static void see_line(void *ctx, const struct run *run, uint32_t node, int64_t ns)
{
    struct lines *lines = ctx;
    uint32_t frame = lines->frames[node];
    uint64_t line = 0;
    uint64_t sum = 0;
    if (!frame)
        return;
    if (!map_get(&lines->of_spot, spot_key(run->at), &line)) {
        line = call_tree_line(lines->tree, run->at, frame);
        map_put(&lines->of_spot, spot_key(run->at), line);
    }
    if (!line)
        return;
    (void)map_get(&lines->sums, line, &sum);
    sum += (uint64_t)ns;
    map_put(&lines->sums, line, sum);
    if ((int64_t)sum > lines->best_ns) {
        lines->best_ns = (int64_t)sum;
        lines->best = (uint32_t)line;
    }
}

uint32_t tally_line(struct tally *t, const uint32_t *frames)
{
    struct lines lines = {.tree = t->tree, .frames = frames};
    each_run(t, see_line, &lines);
    map_release(&lines.of_spot);
    map_release(&lines.sums);
    return lines.best;
}

/* ---- files ---- */

struct files {
    struct call_tree *tree;
    const bool *nodes;
    struct map seen;
    struct text *folder;
    size_t n;
};

/* Shortens FOLDER to what it shares with PATH, up to a '/'. */
static void share_folder(struct text *folder, const char *path)
{
    size_t same = 0;
    while (same < folder->len && path[same] == folder->s[same])
        same++;
    if (same == folder->len && (path[same] == '/' || path[same] == '\0'))
        return;
    while (same && folder->s[same] != '/')
        same--;
    text_truncate(folder, same);
}

static void see_file(void *ctx, const struct run *run, uint32_t node, int64_t ns)
{
    struct files *files = ctx;
    if (!files->nodes[node])
        return;
    string_id file = call_tree_file(files->tree, run->at);
    uint64_t ignored;
    (void)ns;
    if (!file.ix || map_get(&files->seen, file.ix, &ignored))
        return;
    map_put(&files->seen, file.ix, 1);
    const char *path = call_tree_text(files->tree, file);
    if (files->n++ == 0)
        text_add(files->folder, path);
    else
        share_folder(files->folder, path);
}

size_t tally_files(struct tally *t, const bool *nodes, struct text *ret_folder)
{
    struct files files = {.tree = t->tree, .nodes = nodes, .folder = ret_folder};
    text_clear(ret_folder);
    text_add(ret_folder, "");
    each_run(t, see_file, &files);
    map_release(&files.seen);
    if (files.n && !ret_folder->len)
        text_add(ret_folder, "/");
    return files.n;
}

/* ---- other ends ---- */

struct peers {
    struct call_tree *tree;
    const bool *nodes;
    struct map sums; /* time by other end */
    string_id most;
    int64_t most_ns;
};

static void see_peer(void *ctx, const struct run *run, uint32_t node, int64_t ns)
{
    struct peers *peers = ctx;
    string_id peer = peers->nodes[node] ? call_tree_peer(peers->tree, run->at) : (string_id){0};
    uint64_t sum = 0;
    if (!peer.ix)
        return;
    (void)map_get(&peers->sums, peer.ix, &sum);
    sum += (uint64_t)ns;
    map_put(&peers->sums, peer.ix, sum);
    if ((int64_t)sum > peers->most_ns) {
        peers->most = peer;
        peers->most_ns = (int64_t)sum;
    }
}

size_t tally_peers(struct tally *t, const bool *nodes, string_id *ret_most, int64_t *ret_ns)
{
    struct peers peers = {.tree = t->tree, .nodes = nodes};
    each_run(t, see_peer, &peers);
    size_t n = peers.sums.n;
    map_release(&peers.sums);
    *ret_most = peers.most;
    *ret_ns = peers.most_ns;
    return n;
}

/* ---- waits ---- */

struct waits {
    struct call_tree *tree;
    uint32_t node;
    int64_t ns;
    uint64_t n;
};

static void see_waits(void *ctx, const struct run *run, uint32_t node, int64_t ns)
{
    struct waits *waits = ctx;
    if (run->waits == 0 || !call_tree_is_within(waits->tree, node, waits->node))
        return;
    waits->ns += ns;
    waits->n += run->waits;
}

int64_t tally_wait_ns(struct tally *t, uint32_t node)
{
    struct waits waits = {.tree = t->tree, .node = node};
    each_run(t, see_waits, &waits);
    return waits.n ? waits.ns / (int64_t)waits.n : 0;
}
