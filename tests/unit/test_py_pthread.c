#include "pyframes/py_pthread.h"

#include <unistd.h>

#include <pthread.h>

#include "tests/support/check_main.h"
#include "tests/support/own_mem.h"

static uint32_t block[0x400 / sizeof(uint32_t)];
static struct own_mem own;

START_TEST(this_thread_is_known_by_its_block)
{
    pid_t tids[PY_TID_PLACES];
    own = own_mem();
    size_t n = py_pthread_tids(&own.mem, (uint64_t)pthread_self(), tids);
    bool found = false;
    for (size_t i = 0; i < n; i++)
        found |= tids[i] == gettid();
    ck_assert(found);
}
END_TEST

/* glibc's place, musl's, and neither. */
START_TEST(the_tid_is_where_the_c_library_keeps_it)
{
    static const size_t places[] = {0x2d0, 0x30};
    pid_t tids[PY_TID_PLACES];
    own = own_mem();
    for (size_t i = 0; i < 2; i++) {
        block[places[i] / sizeof *block] = 4711;
        block[places[!i] / sizeof *block] = 0x7f001234; /* part of a pointer */
        ck_assert_uint_eq(py_pthread_tids(&own.mem, (uintptr_t)block, tids), 1);
        ck_assert_int_eq(tids[0], 4711);
    }
    block[places[1] / sizeof *block] = 0;
    own.hole = &block[places[0] / sizeof *block];
    ck_assert_uint_eq(py_pthread_tids(&own.mem, (uintptr_t)block, tids), 0);
    ck_assert_uint_eq(py_pthread_tids(&own.mem, 0, tids), 0);
}
END_TEST

CHECK_MAIN("py_pthread", 4, this_thread_is_known_by_its_block,
           the_tid_is_where_the_c_library_keeps_it)
