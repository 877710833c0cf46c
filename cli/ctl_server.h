/* The socket of a running recording: who may ask, and how much of wallspy's time that takes.  It
 * never waits.  At most eight clients are there at a time; each has a second to ask, and a second
 * to take its answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/ctl_request.h"

struct ctl_server;

/* Makes the socket.  NULL with ERR. */
struct ctl_server *ctl_server_open(struct err *err);
/* Readable while ctl_server_serve() has something to do; −1 for NULL. */
int ctl_server_fd(const struct ctl_server *s);

enum { CTL_ERROR_BYTES = 200 };
/* What a client gets: lines, then "ok", or "error: " and ERROR. */
struct ctl_answer {
    struct text lines; /* each with its end; none begins as the last one does */
    char error[CTL_ERROR_BYTES];
};
/* Obeys REQUEST.  Returns true with the answer, or false: CLIENT will get it later. */
typedef bool ctl_obey(void *ctx, uint64_t client, const struct ctl_request *request,
                      struct ctl_answer *ret);
/* Takes new clients, reads, has OBEY answer what they ask, and writes, as far as that can be done
 * at once.  S may be NULL: nothing. */
void ctl_server_serve(struct ctl_server *s, ctl_obey *obey, void *ctx);
/* Answers a client that OBEY has put off; nothing if it has gone meanwhile.  Frees the lines. */
void ctl_server_answer(struct ctl_server *s, uint64_t client, struct ctl_answer *answer);
/* Removes the socket: from here on nobody may ask. */
void ctl_server_shut(struct ctl_server *s);
/* Waits, for a second at most, until those who have been answered have it; ends the others. */
struct ctl_server *ctl_server_free(struct ctl_server *s);
