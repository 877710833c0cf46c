#include "pages/pages.h"

unsigned page_command(const char *name)
{
    unsigned i = 0;
    while (i < COMMAND_COUNT && !str_eq(command_rows[i].name, name))
        i++;
    return i;
}
