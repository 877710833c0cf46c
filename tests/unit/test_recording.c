#include "worker/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/check_main.h"

/* From now on nothing can be opened. */
static void use_up_descriptors(void)
{
    int lowest = open("/", O_PATH);
    struct rlimit limit = {(rlim_t)lowest, (rlim_t)lowest};
    close(lowest);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

START_TEST(a_process_that_cannot_be_sampled_is_not_in_the_profile)
{
    struct recording_config config = {.sampler = {.rate_hz = 100}};
    struct recording *r = recording_new(&config);
    struct err err = {0};
    ck_assert_int_eq(recording_add(r, getpid(), &err), 0);
    ck_assert_uint_eq(profile_process_count(recording_profile(r)), 1);
    use_up_descriptors();
    ck_assert_int_eq(recording_add(r, getpid(), &err), -EMFILE);
    ck_assert_uint_eq(profile_process_count(recording_profile(r)), 1);
    recording_free(r);
}
END_TEST

CHECK_MAIN("recording", 20, a_process_that_cannot_be_sampled_is_not_in_the_profile)
