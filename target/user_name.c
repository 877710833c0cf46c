#include "target/user_name.h"

#include <pwd.h>
#include <stdio.h>

void user_name(uid_t uid, char ret[USER_NAME_BYTES])
{
    const struct passwd *user = getpwuid(uid);
    (void)snprintf(ret, USER_NAME_BYTES, "%s", user ? user->pw_name : "");
}
