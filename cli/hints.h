/* Messages for a user who named neither a process nor a program. */
#pragma once

#include <stdbool.h>

/* Is PATH a file that speedscope opens?  Then the user reads where to open it. */
bool hints_recording(const char *path);
/* Prints the user's own processes that NAME names, youngest first. */
void hints_processes(const char *name);
