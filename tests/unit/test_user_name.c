/* Built with each of the two sources of user_name(). */
#include "target/user_name.h"

#include <string.h>

#include "tests/support/check_main.h"

START_TEST(a_name_is_found)
{
    char name[USER_NAME_BYTES];
    user_name(0, name);
    ck_assert_str_eq(name, "root");
    user_name(1, name); /* not the first line of the file */
    ck_assert_str_eq(name, "daemon");
}
END_TEST

START_TEST(a_number_without_a_name_has_none)
{
    char name[USER_NAME_BYTES];
    memset(name, 'x', sizeof name);
    user_name(4000000001, name);
    ck_assert_str_eq(name, "");
}
END_TEST

CHECK_MAIN("user_name", 20, a_name_is_found, a_number_without_a_name_has_none)
