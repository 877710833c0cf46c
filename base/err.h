/* An error for the user: a negative errno and the one line (or few) that says cause and remedy. */
#pragma once

enum { ERR_TEXT_BYTES = 1024 };

struct err {
    int code; /* 0 or a negative errno */
    char text[ERR_TEXT_BYTES];
};

/* Writes the text where the cause is known.  ERR may be NULL.  Returns CODE, so that a caller can
 * `return err_set(err, -ENOENT, …)`.  A text longer than ERR_TEXT_BYTES is cut. */
int err_set(struct err *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
