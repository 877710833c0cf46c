/* The installed packages that are the user's own program: pip puts it among the libraries. */
#pragma once

#include "profile/profile.h"
#include "summary/known.h"

/* Adds to T, as rows of own code, the package that a script in bin/ calls, if it calls no other and
 * has no functions itself, as pip writes them; and the one that python -m runs.  Packages of which
 * T has rows are libraries, or start others' programs.
 * Source: pip's distlib, scripts.py (SCRIPT_TEMPLATE); CPython Lib/runpy.py. */
void own_packages_add(struct known_table *t, const struct profile *p);
