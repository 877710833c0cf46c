#include "pyframes/py_pthread.h"

const uint32_t py_tid_places[PY_TID_PLACES] = {0x2d0, 0x30};

bool py_is_tid(uint32_t word)
{
    enum { MAX_TID = 1 << 22 }; /* the kernel's PID_MAX_LIMIT */
    return word > 0 && word <= MAX_TID;
}

size_t py_pthread_tids(struct mem *live, uint64_t thread, pid_t tids[PY_TID_PLACES])
{
    size_t n = 0;
    for (size_t i = 0; thread && i < PY_TID_PLACES; i++) {
        uint32_t word;
        if (mem_read_u32(live, thread + py_tid_places[i], &word) == 0 && py_is_tid(word))
            tids[n++] = (pid_t)word;
    }
    return n;
}
