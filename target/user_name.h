/* The names of users. */
#pragma once

#include <sys/types.h>

enum { USER_NAME_BYTES = 33 };

/* Fills RET with the name of user UID, cut where it is too long; "" if none is found.  For one
 * thread at a time.  Source: getpwuid(3); the static program asks passwd(5) alone. */
void user_name(uid_t uid, char ret[USER_NAME_BYTES]);
