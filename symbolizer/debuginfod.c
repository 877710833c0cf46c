#include "symbolizer/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

enum { DEBUGINFOD_MAX_S = 5 };

typedef int (*progress_fn)(void *client, long a, long b);

struct debuginfod {
    void *library, *client;
    void (*end)(void *client);
    int (*find)(void *client, const unsigned char *id, int len, char **path);
    void (*set_progress)(void *client, progress_fn fn);
    void (*set_user_data)(void *client, void *data);
    void *(*get_user_data)(void *client);
    int64_t deadline_ns;
    char *why; /* it is asked no more; NULL: it is */
};

/* POSIX lets dlsym() results be used as functions; ISO C has no cast for it. */
static bool load(void *library, const char *name, void *ret_fn)
{
    void *symbol = dlsym(library, name);
    memcpy(ret_fn, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool load_all(struct debuginfod *d)
{
    void *(*begin)(void) = NULL;
    if (!load(d->library, "debuginfod_begin", &begin) ||
        !load(d->library, "debuginfod_end", &d->end) ||
        !load(d->library, "debuginfod_find_debuginfo", &d->find) ||
        !load(d->library, "debuginfod_set_progressfn", &d->set_progress) ||
        !load(d->library, "debuginfod_set_user_data", &d->set_user_data) ||
        !load(d->library, "debuginfod_get_user_data", &d->get_user_data))
        return false;
    d->client = begin();
    return d->client != NULL;
}

/* Another value than 0 ends the download.  It gets the client alone, so it looks up the way to us
 * again. */
static int on_progress(void *client, long a, long b)
{
    (void)a;
    (void)b;
    void *(*get)(void *) = NULL;
    if (!load(RTLD_DEFAULT, "debuginfod_get_user_data", &get))
        return 1;
    const struct debuginfod *d = get(client);
    return clock_now_ns() > d->deadline_ns;
}

struct debuginfod *debuginfod_open(void)
{
    if (!debuginfod_is_wanted())
        return NULL;
    struct debuginfod *d = xcalloc(1, sizeof *d);
    d->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!d->library || !load_all(d)) {
        log_warn("debuginfod", "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 cannot be used");
        return debuginfod_close(d);
    }
    d->set_user_data(d->client, d);
    d->set_progress(d->client, on_progress);
    return d;
}

const char *debuginfod_gave_up(const struct debuginfod *d)
{
    return d->why;
}

void debuginfod_give_up(struct debuginfod *d, const char *why)
{
    if (d->why)
        return;
    d->why = xstrdup(why);
    log_warn("debuginfod", "%s", why);
}

char *debuginfod_fetch(struct debuginfod *d, const struct build_id *id)
{
    if (d->why)
        return NULL;
    char *path = NULL;
    d->deadline_ns = clock_now_ns() + (int64_t)DEBUGINFOD_MAX_S * NS_PER_S;
    int fd = d->find(d->client, id->bytes, (int)id->len, &path);
    if (fd >= 0) {
        close(fd);
        return path;
    }
    free(path);
    bool late = clock_now_ns() > d->deadline_ns; /* cancelled: the code may be any */
    if (late || fd != -ENOENT) {
        char *why = xasprintf("debuginfod: %s; naming without it",
                              late ? "no answer in time" : strerror(-fd));
        debuginfod_give_up(d, why);
        free(why);
    }
    return NULL;
}

struct debuginfod *debuginfod_close(struct debuginfod *d)
{
    if (!d)
        return NULL;
    if (d->client)
        d->end(d->client);
    if (d->library)
        dlclose(d->library);
    free(d->why);
    free(d);
    return NULL;
}
