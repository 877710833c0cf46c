#include "waits/gil_watch.h"

/* Two processes may have a thread state at the same address. */
static uint64_t state_key(uint32_t process, uint64_t thread_state)
{
    return hash_u64(thread_state) ^ process;
}

void gil_watch_see(struct gil_watch *w, uint32_t process, thread_id thread,
                   const uint64_t states[SNAPSHOT_HOOK_WORDS])
{
    for (size_t i = 0; i < SNAPSHOT_HOOK_WORDS && states[i]; i++)
        map_put(&w->threads, state_key(process, states[i]), thread.ix);
}

bool gil_watch_thread(const struct gil_watch *w, uint32_t process, uint64_t state, thread_id *ret)
{
    uint64_t thread;
    if (!state || !map_get(&w->threads, state_key(process, state), &thread))
        return false;
    *ret = (thread_id){(uint32_t)thread};
    return true;
}

void gil_watch_release(struct gil_watch *w)
{
    map_release(&w->threads);
}
