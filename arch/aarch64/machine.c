#include "arch/machine.h"

const char *machine_refusal(void)
{
    return "wallspy does not run on aarch64 yet: docs/porting.md says what is missing.";
}

bool machine_is_emulated(void)
{
    return false;
}
