/* Split DWARF (-gsplit-dwarf): the program's file has only a skeleton of each unit, the rest is in
 * a .dwo file.
 * Source: DWARF 5 § 3.1.2, 3.1.3; elfutils libdw/libdw_find_split_unit.c. */
#pragma once

#include <elfutils/libdw.h>

/* The unit that SKELETON, of the file open at FD (-1: none), stands for, from its .dwo file.
 * UNIT itself if it is no skeleton, or there is no such file.  Lives as long as UNIT's Dwarf. */
Dwarf_Die split_unit_of(const Dwarf_Die *unit, int fd);
