#include "sampler/thread_filter.h"

#include <fnmatch.h>
#include <stdint.h>

#include "base/text.h"

static bool word_wants(const char *word, const struct thread_facts *facts)
{
    int64_t tid = 0;
    if (str_eq(word, "main"))
        return facts->pid == facts->tid;
    if (str_eq(word, "python"))
        return facts->python;
    if (str_eq(word, "native"))
        return !facts->python;
    if (parse_whole_i64(word, 1, INT32_MAX, &tid) == 0 && tid == facts->tid)
        return true;
    return fnmatch(word, facts->comm, 0) == 0 ||
           (facts->python_name && fnmatch(word, facts->python_name, 0) == 0);
}

bool thread_filter_wants(const struct thread_filter *f, const struct thread_facts *facts)
{
    for (size_t i = 0; i < f->n; i++)
        if (word_wants(f->words[i], facts))
            return true;
    return f->n == 0;
}
