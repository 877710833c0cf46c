/* Is somebody there for whoever connects? */
#pragma once

#include "summary/rules.h"

/* Does a thread wait for whoever connects when the recording ends, or in an event loop, which may
 * do so?  Also where that is not known of all. */
bool somebody_accepts(const struct judgement *s);
