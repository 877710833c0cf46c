/* Stands in for libdebuginfod.so.1, by whose name the loader knows it.  The test sets what it
 * answers. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

extern bool stub_is_broken;
extern int stub_answer; /* 0: it has the file */
extern int stub_asked;  /* how often */

bool stub_is_broken;
int stub_answer;
int stub_asked;

static struct {
    int (*on_progress)(void *client, long a, long b);
    void *user_data;
} the_client;

void *debuginfod_begin(void);
void debuginfod_end(void *client);
void debuginfod_set_progressfn(void *client, int (*fn)(void *client, long a, long b));
void debuginfod_set_user_data(void *client, void *data);
void *debuginfod_get_user_data(void *client);
int debuginfod_find_debuginfo(void *client, const unsigned char *id, int len, char **ret_path);

void *debuginfod_begin(void)
{
    return stub_is_broken ? NULL : &the_client;
}

void debuginfod_end(void *client)
{
    (void)client;
    memset(&the_client, 0, sizeof the_client);
}

void debuginfod_set_progressfn(void *client, int (*fn)(void *client, long a, long b))
{
    (void)client;
    the_client.on_progress = fn;
}

void debuginfod_set_user_data(void *client, void *data)
{
    (void)client;
    the_client.user_data = data;
}

void *debuginfod_get_user_data(void *client)
{
    (void)client;
    return the_client.user_data;
}

int debuginfod_find_debuginfo(void *client, const unsigned char *id, int len, char **ret_path)
{
    stub_asked++;
    if (len != 2 || id[0] != 0xab || id[1] != 0xcd)
        return -EINVAL;
    if (the_client.on_progress(client, 1, 2) != 0)
        return -ECANCELED;
    if (stub_answer < 0)
        return stub_answer;
    *ret_path = strdup("/the/file");
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}
