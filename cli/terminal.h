/* stderr: every message of wallspy goes through here.  Messages begin with "wallspy: " and are
 * wrapped at 79 columns.  Control characters are replaced (text_add_tame()), but line ends are
 * kept: the caller tames names of the target, which may hold some.  May be called from any
 * thread. */
#pragma once

#include <stdbool.h>

#include "cli/options.h"

enum { TERMINAL_TEXT_WIDTH = 79 };

/* Looks at stderr and the environment (TERM, NO_COLOR), and becomes the sink of log_warn().
 * QUIET: information, blocks and progress are dropped; warnings and errors are not. */
void terminal_open(enum color_when color, bool quiet);

/* What the user asked for is what is said: information and blocks go to stdout, whatever QUIET;
 * warnings and errors stay on stderr. */
void terminal_to_stdout(enum color_when color);
/* Was some of that lost?  As errno; 0: no. */
int terminal_lost(void);

/* A command that was launched writes to the same terminal: no line is drawn over its output. */
void terminal_share(void);
/* Whether a line can be written over: a terminal, not TERM=dumb, not quiet. */
bool terminal_is_live(void);
/* Columns for tables: the terminal's that they go to, 79 if it is none. */
int terminal_width(void);
/* The same for stdout, but never less than 79. */
int terminal_data_width(void);

/* "wallspy: …", continued under the text. */
void terminal_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "wallspy: warning: …" */
void terminal_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "wallspy: …", continued at the left margin; line breaks and indents in the text are kept. */
void terminal_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Lines as they are, each with its newline: the closing table. */
void terminal_block(const char *lines);
/* The same for output that the user asked for: also with -q. */
void terminal_lines(const char *lines);

/* Shows LINE in place of the last progress line, cut to the width; the next message takes its
 * place.  At most twice a second, else nothing is done; nor if the terminal is not live. */
void terminal_progress(const char *line);
