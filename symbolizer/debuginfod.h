/* Debug files from a debuginfod server; only where the user set DEBUGINFOD_URLS.  The client
 * library is loaded on first use, so that wallspy runs without it; the static program runs
 * debuginfod-find instead (debuginfod_find.c).  Source: debuginfod(8),
 * debuginfod_find_debuginfo(3). */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "target/elf_file.h"

struct debuginfod;

/* Has the user named a server? */
static inline bool debuginfod_is_wanted(void)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    return urls && *urls;
}

/* NULL: DEBUGINFOD_URLS is not set, or the library cannot be loaded (warned once).  The first
 * debuginfod_fetch() finds that there is no debuginfod-find, and warns. */
struct debuginfod *debuginfod_open(void);
/* Downloads the debug file with this build id, or takes it from the client's cache.  Returns its
 * path, which the caller frees; NULL: none.  Takes DEBUGINFOD_MAX_S at most.  Once that is not
 * enough, or no server can be reached, every later call returns NULL at once (warned once), because
 * only the cache would help. */
char *debuginfod_fetch(struct debuginfod *d, const struct build_id *id);
/* Why every later call returns NULL; NULL: it does not. */
const char *debuginfod_gave_up(const struct debuginfod *d);
/* The same from now on, because a child process found WHY (copied), the warning. */
void debuginfod_give_up(struct debuginfod *d, const char *why);
struct debuginfod *debuginfod_close(struct debuginfod *d); /* NULL is fine; returns NULL */
