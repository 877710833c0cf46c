#include "cli/thread_check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/exit_codes.h"
#include "cli/terminal.h"
#include "sampler/thread_filter.h"
#include "target/proc.h"
#include "worker/recording.h"

enum { MAX_LISTED = 12 };

struct thread_search {
    struct thread_filter filter;
    pid_t pid;
    bool found;
};

static void match_comm(void *ctx, pid_t tid)
{
    struct thread_search *search = ctx;
    char comm[TASK_COMM_BYTES];
    struct thread_facts native = {.pid = search->pid, .tid = tid, .comm = comm};
    struct thread_facts python = {.pid = search->pid, .tid = tid, .comm = comm, .python = true};
    if (!search->found && proc_read_comm(search->pid, tid, comm) >= 0)
        search->found = thread_filter_wants(&search->filter, &native) &&
                        thread_filter_wants(&search->filter, &python);
}

/* A match counts for a Python thread and for another one: /proc does not tell which it is. */
static bool matches_comm(const struct options *o, const pid_t *pids, size_t n)
{
    struct thread_search search = {.filter = {o->threads.words, o->threads.n}};
    for (size_t i = 0; i < n && !search.found; i++) {
        search.pid = pids[i];
        (void)proc_each_task(pids[i], match_comm, &search);
    }
    return search.found;
}

static bool matches_name(const struct options *o, const struct profile *p)
{
    struct thread_filter filter = {o->threads.words, o->threads.n};
    bool found = false;
    for (uint32_t i = 1; i <= profile_thread_count(p) && !found; i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        const char *name = profile_text(p, t->name);
        struct thread_facts facts = {profile_see_process(p, t->process)->pid, t->tid, name,
                                     t->python, name};
        found = thread_filter_wants(&filter, &facts);
    }
    return found;
}

static bool all_are_tids(const struct options *o)
{
    int64_t tid;
    size_t n = 0;
    while (n < o->threads.n && parse_whole_i64(o->threads.words[n], 1, INT32_MAX, &tid) == 0)
        n++;
    return n == o->threads.n;
}

/* ---- the list of threads ---- */

struct thread_kind {
    char *group; /* the common part of the names of like threads; owned */
    char *first; /* the name of one of them; owned */
    size_t n;
};

struct thread_kinds {
    struct thread_kind kinds[MAX_LISTED];
    size_t n, others;
};

static void add_kind(struct thread_kinds *list, const char *group, const char *name)
{
    size_t i = 0;
    while (i < list->n && !str_eq(list->kinds[i].group, group))
        i++;
    if (i == MAX_LISTED) {
        list->others++;
        return;
    }
    if (i == list->n)
        list->kinds[list->n++] =
            (struct thread_kind){.group = xstrdup(group), .first = xstrdup(name)};
    list->kinds[i].n++;
}

static void count_kinds(struct thread_kinds *list, const struct profile *p, bool with_ids)
{
    struct text name = {0};
    struct text group = {0};
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        text_clear(&name);
        text_clear(&group);
        if (with_ids)
            text_addf(&name, "%d ", t->tid);
        text_add(&name, t->main ? "main" : profile_text(p, t->name));
        if (with_ids)
            text_add(&group, name.s);
        else
            text_add_group(&group, name.s);
        add_kind(list, group.s, name.s);
    }
    text_release(&name);
    text_release(&group);
}

/* "main, 6 x loader-*, saver"; each with its id where ids were asked for. */
static void list_threads(const struct profile *p, bool with_ids, struct text *out)
{
    struct thread_kinds list = {0};
    count_kinds(&list, p, with_ids);
    for (size_t i = 0; i < list.n; i++) {
        struct thread_kind *kind = &list.kinds[i];
        const char *name = kind->n > 1 ? kind->group : kind->first;
        text_add(out, i ? ", " : "");
        if (kind->n > 1)
            text_addf(out, "%zu x ", kind->n);
        text_add_tame(out, name, strlen(name));
        free(kind->group);
        free(kind->first);
    }
    if (list.others)
        text_addf(out, " and %zu more", list.others);
}

static int explain(const struct options *o, const struct profile *p)
{
    struct text words = {0};
    struct text threads = {0};
    bool with_ids = all_are_tids(o);
    bool may_come = o->command == COMMAND_RECORD && !with_ids;
    for (size_t i = 0; i < o->threads.n; i++)
        text_addf(&words, "%s%s", i ? "," : "", o->threads.words[i]);
    list_threads(p, with_ids, &threads);
    const char *has = profile_process_count(p) > 1 ? "these processes have" : "this process has";
    if (may_come)
        terminal_warn("no thread matches --thread %s yet; %s: %s", words.s, has, threads.s);
    else
        terminal_error("no thread matches --thread %s; %s: %s", words.s, has, threads.s);
    text_release(&words);
    text_release(&threads);
    return may_come ? EXIT_OK : EXIT_NO_SAMPLE;
}

/* Names that Python gives are in the process's memory: one look at all threads, without a stop. */
int thread_check(const struct options *o, const pid_t *pids, size_t n)
{
    struct recording_config config = {
        .sampler = {.rate_hz = 100, .max_held = 1, .single_shot = true, .no_stop = true},
        .stacks = {.no_native = true},
        .follow = o->subprocesses,
    };
    struct err err = {0};
    int code = EXIT_OK;
    if (!o->threads.n || matches_comm(o, pids, n))
        return EXIT_OK;
    struct recording *r = recording_new(&config);
    size_t added = 0;
    for (size_t i = 0; i < n; i++)
        added += recording_add(r, pids[i], &err) == 0;
    if (added && recording_start(r, &err) == 0) {
        recording_finish(r, NULL, NULL);
        if (!matches_name(o, recording_profile(r)))
            code = explain(o, recording_profile(r));
    }
    recording_free(r);
    return code;
}
