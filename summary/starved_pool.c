#include "summary/starved_pool.h"

#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static bool is_of_pool(const struct shown_frame *f)
{
    return f->pool_loop;
}

static bool runs_coroutines(const struct shown_frame *f)
{
    return known_does(f, DOES_RUN_COROUTINES);
}

/* Has GROUP's process other threads of the same name, which may run the tasks? */
static bool has_more_threads(const struct judgement *s, const struct thread_group *group)
{
    const struct thread_summary *first = group->threads[0];
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *other = &s->g->items[i];
        if (other != group && other->threads[0]->thread->process.ix == first->thread->process.ix &&
            str_eq(other->threads[0]->group, first->group))
            return true;
    }
    return false;
}

bool starved_pool_add(const struct judgement *s, const struct thread_group *group,
                      const struct run *last, struct text *words)
{
    bool for_result = rule_stack_has(s, last->at, rule_is_for_results);
    if (for_result && rule_stack_has(s, last->at, runs_coroutines)) {
        text_addf(words,
                  " %s wait%s in %s event loop, which runs no coroutine meanwhile: if that is for "
                  "one of these, await it, or wait in another thread.",
                  group->plural ? "They" : "It", verb_s(group), possessive(group));
        return true;
    }
    bool pool = group->n_threads > 1 || rule_stack_has(s, last->at, is_of_pool);
    if (group->threads[0]->thread->main || !pool || !for_result || has_more_threads(s, group))
        return false;
    text_addf(words,
              " If these are results of tasks of %s own pool, no thread is left to run them: wait "
              "outside of the pool, or give these tasks another pool.",
              possessive(group));
    return true;
}
