/* In the place of debuginfod.c in the static program, which cannot load the client library: the
 * program debuginfod-find.  Source: debuginfod-find(1), debuginfod-client-config(7). */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "symbolizer/debuginfod.h"

#define SECONDS "5"
enum { DEBUGINFOD_MAX_S = 5 };

/* It ends by itself after that time, and prints its result alone. */
static char *const settings[] = {"DEBUGINFOD_TIMEOUT=" SECONDS,
                                 "DEBUGINFOD_MAXTIME=" SECONDS,
                                 "DEBUGINFOD_PROGRESS=",
                                 "DEBUGINFOD_VERBOSE=",
                                 "LC_ALL=C",
                                 NULL};

struct debuginfod {
    char **env; /* ours, with these settings; the texts are not owned */
    char *why;  /* it is asked no more; NULL: it is */
};

/* Is variable TEXT ("NAME=VALUE") one of the settings? */
static bool is_set(const char *text)
{
    size_t len = strcspn(text, "=") + 1;
    for (size_t i = 0; settings[i]; i++)
        if (strncmp(settings[i], text, len) == 0)
            return true;
    return false;
}

static char **make_env(void)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **env = xcalloc(n + sizeof settings / sizeof *settings, sizeof *env);
    size_t used = 0;
    for (size_t i = 0; settings[i]; i++)
        if (strchr(settings[i], '=')[1])
            env[used++] = settings[i];
    for (size_t i = 0; i < n; i++)
        if (!is_set(environ[i]))
            env[used++] = environ[i];
    return env;
}

struct debuginfod *debuginfod_open(void)
{
    if (!debuginfod_is_wanted())
        return NULL;
    struct debuginfod *d = xcalloc(1, sizeof *d);
    d->env = make_env();
    return d;
}

/* The last line of SAID, without its end; "" if there is none. */
static const char *last_line(struct text *said)
{
    if (!said->s)
        return "";
    while (said->len > 0 && isspace((unsigned char)said->s[said->len - 1]))
        text_truncate(said, said->len - 1);
    const char *end = strrchr(said->s, '\n');
    return end ? end + 1 : said->s;
}

const char *debuginfod_gave_up(const struct debuginfod *d)
{
    return d->why;
}

void debuginfod_give_up(struct debuginfod *d, const char *why)
{
    if (!d->why) {
        d->why = xstrdup(why);
        log_warn("debuginfod", "%s", why);
    }
}

static void give_up(struct debuginfod *d, int error, const char *said)
{
    char *why = error == -ENOENT
                    ? xstrdup("DEBUGINFOD_URLS is set, but debuginfod-find is not installed")
                    : xasprintf("debuginfod: %s; naming without it", error == -ETIMEDOUT
                                                                         ? "no answer in time"
                                                                     : error < 0 ? strerror(-error)
                                                                                 : said);
    debuginfod_give_up(d, why);
    free(why);
}

char *debuginfod_fetch(struct debuginfod *d, const struct build_id *id)
{
    if (d->why)
        return NULL;
    char name[] = "debuginfod-find";
    char kind[] = "debuginfo";
    char hex[2 * BUILD_ID_MAX_BYTES + 1] = "";
    for (size_t i = 0; i < id->len; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
    char *argv[] = {name, kind, hex, NULL};
    struct text said = {0};
    int r = program_run(argv, d->env, (int64_t)DEBUGINFOD_MAX_S * NS_PER_S, &said);
    const char *line = last_line(&said);
    char *path = r == 0 && *line == '/' ? xstrdup(line) : NULL;
    /* A server that has no such file may have the next. */
    if (!path && (r < 0 || !str_ends(line, "No such file or directory")))
        give_up(d, r, *line ? line : "debuginfod-find failed");
    text_release(&said);
    return path;
}

struct debuginfod *debuginfod_close(struct debuginfod *d)
{
    if (!d)
        return NULL;
    free(d->env);
    free(d->why);
    free(d);
    return NULL;
}
