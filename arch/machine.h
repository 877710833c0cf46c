/* What the machine itself is. */
#pragma once

#include <stdbool.h>

/* Why wallspy does not run on this machine: a sentence for users; NULL: it does. */
const char *machine_refusal(void);
/* Is this an emulator on another machine, which may have no ptrace(2)?  qemu-user, Rosetta. */
bool machine_is_emulated(void);
