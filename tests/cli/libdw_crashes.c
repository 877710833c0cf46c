/* Preloaded into wallspy: libdw crashes when a line of target.c is looked up. */
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <string.h>

Dwarf_Line *dwarf_getsrc_die(Dwarf_Die *die, Dwarf_Addr addr)
{
    Dwarf_Line *(*real)(Dwarf_Die *, Dwarf_Addr);
    void *symbol = dlsym(RTLD_NEXT, "dwarf_getsrc_die");
    const char *unit = dwarf_diename(die);
    if (unit && strstr(unit, "cli/target.c"))
        __builtin_trap();
    memcpy(&real, &symbol, sizeof real);
    return real(die, addr);
}
