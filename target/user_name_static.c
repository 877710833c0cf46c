/* In the place of user_name.c in the static program.  getpwuid(3) would load libraries of the
 * machine's C library, which is another version than the one linked in. */
#include <pwd.h>
#include <stdio.h>

#include "target/user_name.h"

void user_name(uid_t uid, char ret[USER_NAME_BYTES])
{
    ret[0] = '\0';
    FILE *users = fopen("/etc/passwd", "re");
    if (!users)
        return;
    const struct passwd *user;
    do
        user = fgetpwent(users);
    while (user && user->pw_uid != uid);
    (void)snprintf(ret, USER_NAME_BYTES, "%s", user ? user->pw_name : "");
    (void)fclose(users);
}
