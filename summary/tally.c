#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "summary/call_tree.h"

struct run_parts time_span_parts(const struct time_span *span)
{
    return span->intervals ? run_parts_of(span->thread, span->intervals, span->n)
                           : run_parts_of_all(span->thread);
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

static bool is_skipped(const struct tally *t, const struct run *run)
{
    const struct wait *wait =
        t->skipped_waits ? profile_see_wait(call_tree_profile(t->tree), run->at.wait) : NULL;
    return wait && t->skipped_waits >> wait->kind & 1;
}

/* How much PART, of SPAN, counts. */
static int64_t part_ns(const struct tally *t, const struct time_span *span,
                       const struct run_parts *part)
{
    const struct run *run = part->run;
    if (run->state == RUN_MISSED || !(t->states >> run->state & 1) || is_skipped(t, run))
        return 0;
    return span->intervals ? part->when.end_ns - part->when.start_ns : run_weight(run, t->weight);
}

static void add_span(struct tally *t, const struct time_span *span)
{
    t->spans = array_reserve(t->spans, &t->spans_capacity, t->n_spans + 1, sizeof *t->spans);
    t->spans[t->n_spans++] = *span;
    t->totalled = false;
    for (struct run_parts p = time_span_parts(span); run_parts_next(&p);) {
        int64_t ns = part_ns(t, span, &p);
        if (ns == 0)
            continue;
        uint32_t node = call_tree_of(t->tree, p.run->at);
        grow(t);
        if (call_tree_node(t->tree, node).idle)
            t->idle_ns += ns;
        else
            t->self_ns[node] += ns;
        t->all_ns += ns;
        t->samples += p.again ? 0 : p.run->samples;
    }
}

void tally_add(struct tally *t, const struct profile_thread *thread,
               const struct interval *intervals, size_t n)
{
    assert(intervals && n); /* none would be all of the thread's time */
    add_span(t, &(struct time_span){thread, intervals, n});
}

void tally_add_thread(struct tally *t, const struct profile_thread *thread)
{
    add_span(t, &(struct time_span){.thread = thread});
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

void tally_each(const struct tally *t, tally_see *see, void *ctx)
{
    for (size_t i = 0; i < t->n_spans; i++)
        for (struct run_parts p = time_span_parts(&t->spans[i]); run_parts_next(&p);) {
            int64_t ns = part_ns(t, &t->spans[i], &p);
            if (ns > 0)
                see(ctx, &p, call_tree_of(t->tree, p.run->at), ns);
        }
}

/* ---- lines ---- */

struct lines {
    struct call_tree *tree;
    const uint32_t *frames;
    struct tally_lines found;
    struct map of_spot, sums; /* line by spot; time by line */
};

/* LINE has NS by now; a sum only grows. */
static void rank_line(struct tally_lines *found, uint32_t line, int64_t ns)
{
    if (line == found->first) {
        found->first_ns = ns;
    } else if (ns > found->first_ns) {
        found->second = found->first;
        found->second_ns = found->first_ns;
        found->first = line;
        found->first_ns = ns;
    } else if (ns > found->second_ns) {
        found->second = line;
        found->second_ns = ns;
    }
}

static void see_line(void *ctx, const struct run_parts *part, uint32_t node, int64_t ns)
{
    struct lines *lines = ctx;
    const struct run *run = part->run;
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
    lines->found.all_ns += ns;
    rank_line(&lines->found, (uint32_t)line, (int64_t)sum);
}

struct tally_lines tally_lines(struct tally *t, const uint32_t *frames)
{
    struct lines lines = {.tree = t->tree, .frames = frames};
    tally_each(t, see_line, &lines);
    map_release(&lines.of_spot);
    map_release(&lines.sums);
    return lines.found;
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

static void see_file(void *ctx, const struct run_parts *part, uint32_t node, int64_t ns)
{
    struct files *files = ctx;
    if (!files->nodes[node])
        return;
    string_id file = call_tree_file(files->tree, part->run->at);
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
    tally_each(t, see_file, &files);
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

static void see_peer(void *ctx, const struct run_parts *part, uint32_t node, int64_t ns)
{
    struct peers *peers = ctx;
    string_id peer =
        peers->nodes[node] ? call_tree_peer(peers->tree, part->run->at) : (string_id){0};
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
    tally_each(t, see_peer, &peers);
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
    /* A wait whose lock changed hands, or that a file has in parts, counts in its last run. */
    int64_t open_ns, open_until_ns;
};

static void see_waits(void *ctx, const struct run_parts *part, uint32_t node, int64_t ns)
{
    struct waits *waits = ctx;
    if (part->run->state != RUN_BLOCKED || !call_tree_is_within(waits->tree, node, waits->node))
        return;
    int64_t open_ns = waits->open_until_ns == part->when.start_ns ? waits->open_ns : 0;
    bool ends = part->run->waits > 0;
    waits->open_ns = ends ? 0 : open_ns + ns;
    waits->open_until_ns = part->when.end_ns;
    waits->ns += ends ? open_ns + ns : 0;
    waits->n += part->again ? 0 : part->run->waits;
}

int64_t tally_wait_ns(struct tally *t, uint32_t node)
{
    struct waits waits = {.tree = t->tree, .node = node};
    tally_each(t, see_waits, &waits);
    return waits.n ? waits.ns / (int64_t)waits.n : 0;
}
