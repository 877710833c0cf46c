/* Signals to wallspy itself.
 *
 * Without a running command INT, TERM and HUP (and QUIT, if there was one) ask to stop.  The second
 * of them asks to discard the file that is being written; the third has its default action, which
 * ends wallspy where something hangs.  While a command runs, sent signals go on to it; the
 * terminal's reach it by themselves, and the terminal's second Ctrl-C asks to stop sampling.
 * timeout(1) sends its signal twice: a repetition before the first one was handled does not count.
 * A signal that was ignored when wallspy started stays ignored (nohup), except for INT of an
 * attached recording: shells let background commands of scripts ignore INT.  The thread that calls
 * signals_open() handles them; others block them. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Installs the handlers, and one for SIGPIPE that does nothing: the exec of a command undoes all.
 * LAUNCHED: a command will be started. */
void signals_open(bool launched);

/* From now on INT, TERM and HUP end wallspy, if signals_open() handled them. */
void signals_end_at_once(void);

/* From now on a pipe without a reader ends wallspy without a word (`wallspy dump -p PID | head`),
 * unless SIGPIPE was ignored when wallspy started. */
void signals_let_broken_pipe_end(void);

/* Around the start of the command: blocks them all, so that it does not run our handlers before its
 * exec. */
void signals_block(sigset_t *ret_old);
void signals_restore(const sigset_t *old);
/* Blocks the signals by which the terminal stops jobs, for this thread and those it starts: Ctrl-Z
 * must not stop wallspy while it holds a thread of the target.  Call it after the start of the
 * command, because Ctrl-Z may stop that. */
void signals_block_terminal_stop(void);
/* Undoes it, once no thread is held. */
void signals_let_terminal_stop(void);
/* Has the terminal asked to stop the job (Ctrl-Z) since the last call? */
bool signals_take_terminal_stop(void);
/* Stops until SIGCONT.  In an orphaned process group nobody would send that, and the kernel ignores
 * SIGTSTP (`ssh -t host wallspy …`; setpgid(2)). */
void signals_stop_as_terminal_asks(void);
/* Does COMMAND, a child of ours, run?  Async-signal-safe.  0: no. */
bool signals_is_running(pid_t command);
/* The command to forward to; 0, as at first: none runs. */
void signals_set_command(pid_t pid);

/* Waits until a signal arrives that this file handles, or TIMEOUT_NS passes.  Without a descriptor
 * a signal that arrived shortly before is noticed at the end of that time only. */
void signals_wait(int64_t timeout_ns);
/* Readable while a signal waits to be noticed: for a poll of the caller's own. */
int signals_fd(void);     /* −1: no descriptor was left, and it is never readable */
void signals_drain(void); /* makes signals_fd() wait for the next one */

/* Another thread, while the one that handles them cannot: handles those that have come. */
void signals_handle_here(void);
/* Asks to stop, as a signal does; also where a command runs. */
void signals_ask_to_stop(void);
/* Is there a request to stop that nobody has heard?  It is heard now: after the moment in which its
 * repetitions come (timeout(1) sends two), a signal is a second request. */
bool signals_hear_stop(void);
bool signals_stop_wanted(void);    /* end sampling and write */
bool signals_discard_wanted(void); /* asked again: drop the file that is being written */
bool signals_take_snapshot(void);  /* USR1 came since the last call, not for a command */
