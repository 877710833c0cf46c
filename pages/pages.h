/* The program make_page fills the templates of this folder with parts of man pages (man.c) and of
 * completions (shell.c), made from the tables of the product.  Each function appends its part to
 * OUT.  WORD stands behind the part's name in the template; the function returns false if it does
 * not know WORD. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "cli/options_table.h"

/* WORD: the page's name in capitals.  The first lines of the page. */
bool man_add_title(const char *word, struct text *out);
/* WORD of the next three: a command. */
bool man_add_name(const char *word, struct text *out);
bool man_add_synopsis(const char *word, struct text *out);
bool man_add_options(const char *word, struct text *out);
/* WORD: "loss", "doubt" or "note".  What the quality line says for each such metric, and means. */
bool man_add_quality(const char *word, struct text *out);

/* The branches of a case over a command, which set OPTIONS.  WORD: none, as in all of bash. */
bool bash_add_options(const char *word, struct text *out);
/* The branches of a case over an option with a value, which set KIND (text, pids, file or words),
 * WORDS and OPTIONAL. */
bool bash_add_values(const char *word, struct text *out);
bool bash_add_commands(const char *word, struct text *out);
/* Arguments of _arguments for the options of WORD, a command. */
bool zsh_add_options(const char *word, struct text *out);
/* Elements of an array for _describe. */
bool zsh_add_commands(const char *word, struct text *out);
/* Lines `complete -c wallspy` for all commands and their options. */
bool fish_add_commands(const char *word, struct text *out);

/* The index of the command NAME; COMMAND_COUNT: there is none. */
unsigned page_command(const char *name);
