/* wallspy's exit codes.  A launched command's own status is passed on, 128 + signal. */
#pragma once

#include "target/attach_check.h"

enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_PERMITTED = 3,
    EXIT_NO_PROCESS = 4,
    EXIT_UNSUPPORTED = 5,
    EXIT_NO_SAMPLE = 6,       /* none taken, or not all with --strict */
    EXIT_STRICT_FAILED = 125, /* launched with --strict, and wallspy failed */
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
};

/* For the errno of a failed exec: 127 if there is no such file, else 126. */
int exit_code_of_exec(int error);
/* For what recording_add() and recording_start() return. */
int exit_code_of_errno(int error);
int exit_code_of_obstacle(enum attach_obstacle obstacle);
