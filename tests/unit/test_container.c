/* tests/cli/doctor.py shows that containers are known. */
#include "target/container.h"

#include "tests/support/check_main.h"

START_TEST(the_machines_own_users)
{
    ck_assert(uid_map_is_whole("         0          0 4294967295\n"));
    ck_assert(!uid_map_is_whole("         0     100000      65536\n"));
    ck_assert(!uid_map_is_whole("      1000          0 4294967295\n"));
    ck_assert(!uid_map_is_whole("         0          0      65536\n"));
    ck_assert(!uid_map_is_whole("         0 4294967295"));
    ck_assert(!uid_map_is_whole("0 0 99999999999999999999"));
    ck_assert(!uid_map_is_whole(""));
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(container_name(CONTAINER_NONE), "");
    ck_assert_str_eq(container_name(CONTAINER_DOCKER), "docker");
    ck_assert_str_eq(container_name(CONTAINER_KUBERNETES), "kubernetes");
}
END_TEST

CHECK_MAIN("container", 10, the_machines_own_users, names)
