#include "cli/targets.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/exit_codes.h"
#include "cli/proc_only_view.h"
#include "cli/terminal.h"
#include "target/attach_check.h"
#include "target/command_line.h"
#include "target/proc.h"

static void add_process(pid_t *pids, size_t *n, pid_t pid)
{
    for (size_t i = 0; i < *n; i++)
        if (pids[i] == pid)
            return;
    pids[(*n)++] = pid;
}

static void explain(const struct attach_check *c, bool is_warning)
{
    struct text command = {0};
    struct text message = {0};
    command_line_of(c->pid, &command);
    attach_check_explain(c, command.s, &message);
    if (is_warning)
        terminal_warn("%s", message.s);
    else
        terminal_error("%s", message.s);
    text_release(&message);
    text_release(&command);
}

static void explain_all(const struct attach_check *checks, size_t n, bool is_warning)
{
    for (size_t i = 0; i < n; i++)
        if (checks[i].obstacle != ATTACH_OK)
            explain(&checks[i], is_warning);
}

int targets_check(const struct options *o, pid_t **ret, size_t *ret_n, bool *ret_one_missing)
{
    struct attach_check *checks = xcalloc(o->n_pids, sizeof *checks);
    pid_t *pids = xcalloc(o->n_pids, sizeof *pids);
    size_t n = 0;
    for (size_t i = 0; i < o->n_pids; i++) {
        const struct attach_check *c = &checks[i];
        attach_check(&checks[i], o->pids[i]);
        if (c->obstacle == ATTACH_OK)
            add_process(pids, &n, c->pid);
        else
            *ret_one_missing = true;
        if (c->asked_is_thread && c->obstacle == ATTACH_OK)
            terminal_info("%d is thread %s of %d: sampling %d (only it: --thread %d)", o->pids[i],
                          c->thread_comm, c->pid, c->pid, o->pids[i]);
    }
    explain_all(checks, o->n_pids, n > 0);
    int code = n > 0 ? EXIT_OK : exit_code_of_obstacle(checks[0].obstacle);
    if (code == EXIT_NOT_PERMITTED && !o->quiet)
        proc_only_view(checks[0].pid);
    free(checks);
    if (code != EXIT_OK) {
        free(pids);
        return code;
    }
    *ret = pids;
    *ret_n = n;
    return EXIT_OK;
}

int targets_check_command(pid_t pid)
{
    struct attach_check c;
    attach_check(&c, pid);
    if (c.obstacle == ATTACH_OK || exit_code_of_obstacle(c.obstacle) == EXIT_NO_PROCESS)
        return EXIT_OK;
    explain(&c, true);
    return exit_code_of_obstacle(c.obstacle);
}

int targets_start(struct recording *r, const pid_t *pids, size_t n, bool *ret_one_missing,
                  struct err *err)
{
    size_t added = 0;
    int error = 0;
    for (size_t i = 0; i < n; i++) {
        error = recording_add(r, pids[i], err);
        added += error == 0;
        *ret_one_missing |= error < 0;
        if (error < 0 && (added || i + 1 < n)) /* otherwise it is the error */
            terminal_warn("%s", err->text);
    }
    return added ? recording_start(r, err) : error;
}
