#include "cli/exit_codes.h"

#include <errno.h>

int exit_code_of_exec(int error)
{
    return error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

int exit_code_of_errno(int error)
{
    switch (-error) {
    case ESRCH:
        return EXIT_NO_PROCESS;
    case EPERM:
    case EACCES:
        return EXIT_NOT_PERMITTED;
    case ENOENT:
        return EXIT_UNSUPPORTED;
    default:
        return EXIT_FAILED;
    }
}

int exit_code_of_obstacle(enum attach_obstacle obstacle)
{
    switch (obstacle) {
    case ATTACH_OK:
        return EXIT_OK;
    case ATTACH_NO_PROCESS:
    case ATTACH_ZOMBIE:
        return EXIT_NO_PROCESS;
    case ATTACH_OLD_KERNEL:
    case ATTACH_GVISOR:
    case ATTACH_KERNEL_THREAD:
    case ATTACH_SELF:
    case ATTACH_OUR_TRACER:
    case ATTACH_OTHER_PROC:
    case ATTACH_32_BIT:
    case ATTACH_NO_PTRACE:
    case ATTACH_NO_SYSCALL_FILE:
        return EXIT_UNSUPPORTED;
    case ATTACH_UNREADABLE:
        return EXIT_FAILED;
    case ATTACH_OTHER_USER:
    case ATTACH_NOT_DUMPABLE:
    case ATTACH_MORE_CAPABILITIES:
    case ATTACH_TRACED:
    case ATTACH_USER_NAMESPACE:
    case ATTACH_YAMA:
    case ATTACH_SECCOMP:
    case ATTACH_REFUSED:
        return EXIT_NOT_PERMITTED;
    }
    return EXIT_FAILED;
}
