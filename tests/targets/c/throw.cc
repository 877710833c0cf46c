/* Blocked in a destructor that an exception runs: the thrower's frames are gone.
 * STACK: read _ZN7BlockerD2Ev passes_on main [libc.so.6] __libc_start_main _start */
#include <exception>

extern "C" {
#include "ready.h"
}

struct Blocker {
    int n;
    NOINLINE ~Blocker()
    {
        if (!std::uncaught_exceptions())
            return;
        say_ready();
        wait_for_test();
        n = 0;
    }
};

NOINLINE static void throws(Blocker &blocker)
{
    throw blocker.n;
}

extern "C" NOINLINE int passes_on(int n)
{
    Blocker blocker{n};
    throws(blocker);
    return blocker.n;
}

int main(int argc, char **)
{
    try {
        return passes_on(argc);
    } catch (int n) {
        return n;
    }
}
