/* Places, shares and times as sentences have them. */
#pragma once

#include "base/text.h"
#include "summary/call_path.h"

/* "87%", never "100%" of less than all. */
void add_percent(struct text *out, double share);
/* A function's name, with its line: short enough for a sentence. */
void add_name(struct text *out, const char *part);
/* "in TopK::exec ops.cc:34, called from f a.py:3" */
void add_place(struct text *out, const struct call_path *path);
/* The same of a function that others call, too: ", mainly called from f a.py:3" */
/* ", in release x.c:9"; ", mainly in …", where PATH has not as good as all of NS. */
void add_heaviest_place(struct text *out, const struct call_path *path, int64_t ns);
void add_place_longest(struct text *out, const struct call_path *path);
/* "TopK::exec > cudaGetDeviceProperties > ioctl" */
void add_way(struct text *out, const struct call_path *path);
/* The same behind the function OWN, a key of its nodes: nothing if that is the last, or not
 * there. */
void add_way_below(struct call_tree *t, struct text *out, const struct call_path *path,
                   uint32_t own);
/* "6.0 s", "326 ms", "2.1 ms" */
void add_time(struct text *out, int64_t ns);
