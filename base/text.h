/* Strings: comparison, strict number parsing, and a text that grows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool str_eq(const char *a, const char *b);
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Is S one of LIST, which ends in NULL; does it start or end with one, or have one in it? */
bool str_is_one_of(const char *s, const char *const *list);
bool str_starts_any(const char *s, const char *const *list);
bool str_ends_any(const char *s, const char *const *list);
bool str_has_any(const char *s, const char *const *list);
/* The part of PATH behind its last '/'; PATH itself without one. */
const char *path_base(const char *path);
/* Is END the end of PATH?  "threading.py", as in a frozen Python program (PyInstaller), is all of
 * the path that an END "/threading.py" is asked for. */
bool path_ends(const char *path, const char *end);

/* The bytes of the well-formed UTF-8 character at S, of which LEN bytes are there; 0: none.
 * Source: Unicode 15 table 3-7. */
size_t utf8_length(const char *s, size_t len);
/* Writes the character C, at most 0x10ffff, as UTF-8.  Returns how many bytes. */
size_t utf8_put(uint32_t c, char ret[4]);
/* Does a terminal obey the character at S of LENGTH bytes, as utf8_length() gives it, or turn the
 * writing's direction by it? */
bool utf8_is_order(const char *s, size_t length);
/* The characters of S, LEN bytes of UTF-8, for a terminal that gives each one column. */
size_t utf8_columns(const char *s, size_t len);
/* The bytes of the first COLUMNS characters of S, at most LEN. */
size_t utf8_cut(const char *s, size_t len, size_t columns);

/* Parses a whole number in BASE (10 or 16, no sign, no space, no 0x) from the first characters of
 * [S, END).  Returns the first character after it; NULL if there is no digit or it overflows. */
const char *parse_u64(const char *s, const char *end, unsigned base, uint64_t *ret);
/* The whole of S must be a decimal number in [MIN, MAX].  Returns 0 or -EINVAL. */
int parse_whole_i64(const char *s, int64_t min, int64_t max, int64_t *ret);

/* Growing text, always NUL-terminated once anything was added; zero-initialise. */
struct text {
    char *s; /* NULL while empty */
    size_t len, capacity;
};
void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *s, size_t len); /* S may be NULL if LEN is 0 */
const char *text_str(const struct text *t);                     /* "" while empty */
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends a name for people to read.  Characters that a terminal would obey or choke on become '?':
 * control characters (C0 with the line end and the tab, DEL, C1), those that turn the writing's
 * direction, and bytes that are no UTF-8. */
void text_add_tame(struct text *t, const char *s, size_t len);
/* Appends S, LEN bytes, or as much of it as COLUMNS hold, with "…" at the end where it is cut. */
void text_add_cut(struct text *t, const char *s, size_t len, size_t columns);
void text_add_tame_cut(struct text *t, const char *name, size_t columns); /* both */
/* Appends PATH as text_add_tame() does; the middle of one that has more than COLUMNS is left out:
 * "/mnt/…/2024/notes.txt". */
void text_add_path(struct text *t, const char *path, size_t columns);
/* The columns in use of T's last line, which begins at START. */
size_t text_columns(const struct text *t, size_t start);
/* Fills it with spaces up to COLUMN, with GAP of them at least. */
void text_pad(struct text *t, size_t start, size_t column, size_t gap);
/* Appends NAME with '*' for each number in it, so that "worker-1" and "worker-2" give one text. */
void text_add_group(struct text *t, const char *name);
/* Appends N as people write about so many: "73,000", "1.2 million". */
void text_add_thousands(struct text *t, double n);
/* SECONDS in words: "0.5 s", "64 s", "8.5 min", "4.6 h", "194 days". */
void text_add_span(struct text *t, double seconds);
void text_clear(struct text *t);                /* keeps the storage */
void text_truncate(struct text *t, size_t len); /* LEN: no more than there is */
void text_release(struct text *t);
/* Adds the words of S, with a line break and INDENT spaces before each word that would pass column
 * WIDTH; a longer word stands alone.  COLUMN is how much of the current line is in use; the column
 * reached is returned.  Line breaks in S are kept, and spaces behind them.  Counts as
 * utf8_columns() does. */
size_t text_add_wrapped(struct text *t, const char *s, size_t column, size_t indent, size_t width);
/* Adds S so behind INDENT spaces, other lines of it behind FURTHER, and a line end. */
void text_add_line(struct text *t, const char *s, size_t indent, size_t further, size_t width);
