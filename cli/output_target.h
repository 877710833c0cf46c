/* The place and format of an output file, checked before wallspy attaches to anything. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "exporter/exporter.h"

struct output_target {
    char *path;     /* no symbolic link, unless it is written in place */
    int descriptor; /* of ours that PATH names ("-": stdout): written to as it is.  -1: none */
    const struct exporter *exporter;
    bool gzip;          /* the name ends in ".gz" */
    bool in_place;      /* stdout, a device, a pipe: written as it is */
    bool is_new;        /* the name is wallspy's choice: whatever has it already stays */
    struct stat before; /* of PATH, when it was planned; st_ino 0: there was nothing */
};

/* PATH is expanded already; FORMAT NULL: by the suffix.  IS_NEW: no link is followed and no file
 * replaced; else root follows a link only if its owner is root, SUDO_UID or the owner of the link's
 * folder.  Returns 0, or with ERR: -EINVAL for an unknown format or suffix (a mistake of usage),
 * another errno if the file cannot be written. */
int output_plan(struct output_target *ret, const char *path, const char *format, bool is_new,
                struct err *err);
/* Notes which file has T's name now. */
void output_note_before(struct output_target *t);
/* Has that name another file now, or the file another content? */
bool output_has_changed(const struct output_target *t);
void output_target_release(struct output_target *t);

/* Creates the hidden temporary file that is to replace PATH.  *RET_NAME is its name, which
 * the caller frees, also after an error.  Returns its descriptor or a negative errno. */
int output_create_temporary(const char *path, char **ret_name);
/* Gives FD, a file that was private while it grew, the mode that such a temporary file has; on a
 * file system without modes it stays as it is. */
void output_open_up(int fd, const char *path);
/* Is PATH a regular file of the user's, who under sudo is SUDO_UID too?  *RET_MODE: its mode; also
 * written if the file is another user's. */
bool output_is_own_file(const char *path, unsigned *ret_mode);
/* SUDO_UID or SUDO_GID for root, whose files then are that user's; −1 without sudo. */
long output_sudo_id(const char *name);
