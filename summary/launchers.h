/* Which groups are launchers: torchrun, gunicorn, `sh -c`.  They say nothing of the work. */
#pragma once

#include "summary/groups.h"

/* Sets `launches` of all groups of G. */
void launchers_mark(struct groups *g);
