#include "target/command_line.h"

#include <string.h>

#include "target/proc.h"
#include "target/secrets.h"

/* More than is shown: what is cut off may tell that the rest is a secret. */
enum { READ_BYTES = 2 * SECRETS_MAX_COMMAND_BYTES + 2 };

/* Servers that put a title in the place of their arguments leave the rest of that room empty:
 * redis, postgres and nginx had up to 70 empty arguments.  Returns 0 if all are empty. */
static ssize_t read_arguments(pid_t pid, char buf[READ_BYTES])
{
    ssize_t n = proc_read_text(pid, 0, "cmdline", buf, READ_BYTES);
    while (n > 0 && buf[n - 1] == '\0' && (n == 1 || buf[n - 2] == '\0'))
        n--;
    return n;
}

void command_line_of(pid_t pid, struct text *out)
{
    char buf[READ_BYTES];
    ssize_t n = read_arguments(pid, buf);
    if (n > 0)
        secrets_command_line(buf, (size_t)n, out);
    else if (n == 0 && proc_read_text(pid, 0, "comm", buf, sizeof buf) > 0)
        text_addf(out, "[%.*s]", (int)strcspn(buf, "\n"), buf);
}

bool command_line_each(pid_t pid, void (*each)(void *ctx, const char *masked), void *ctx)
{
    char buf[READ_BYTES];
    ssize_t n = read_arguments(pid, buf);
    if (n > 0)
        n = (ssize_t)secrets_looked_at(buf, (size_t)n);
    if (n > 0)
        secrets_each_argument(buf, (size_t)n, each, ctx);
    return n > 0;
}
