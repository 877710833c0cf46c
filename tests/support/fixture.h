/* A recorded profile as a compact text, so that rules can be judged without a live target
 * (tests/README.md).  It holds what was recorded, as fields; what the profile derives from that is
 * derived anew.  Only fixture_*.c know how today's profile keeps it. */
#pragma once

#include "base/err.h"
#include "base/text.h"
#include "profile/profile.h"

enum { FIXTURE_FORMAT = 1 };

/* Appends P, rows of text.  Returns 0, or -EINVAL with ERR: P is not of full resolution. */
int fixture_add(struct text *out, const struct profile *p, struct err *err);
/* Packs LEN bytes of TEXT into the file PATH.  Returns 0 or a negative errno with ERR. */
int fixture_pack(const char *text, size_t len, const char *path, struct err *err);
/* The file PATH, unpacked.  Returns 0 or a negative errno with ERR. */
int fixture_unpack(const char *path, struct text *ret, struct err *err);
/* The profile of TEXT, the rows of the file NAME, which it takes apart in place.  NULL with ERR,
 * "NAME:12: no stack 7", if it cannot be read. */
struct profile *fixture_parse(char *text, const char *name, struct err *err);
struct profile *fixture_read(const char *path, struct err *err); /* unpacks and parses */
