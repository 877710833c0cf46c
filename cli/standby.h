/* wallspy standby: runs a command that any process of the same user may attach to. */
#pragma once

#include "cli/options.h"

/* Does not return if the command was started; else 126 (not executable) or 127 (not found), with
 * the reason on stderr.  Source: PR_SET_PTRACER in prctl(2),
 * Documentation/admin-guide/LSM/Yama.rst; exit codes as env(1). */
int standby_main(const struct options *o);
