#include "profile/metric_info.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "tests/support/check_main.h"
#include "worker/recording_metadata.h"

static bool is_key(const char *s)
{
    size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return islower((unsigned char)s[0]) && !s[len];
}

/* A hole in the table is a metric that was added to the enum alone. */
START_TEST(every_metric_is_described)
{
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        const struct metric_info *info = metric_info(m);
        ck_assert_msg(info->key && is_key(info->key), "metric %d", (int)m);
        ck_assert_msg(info->meaning && str_ends(info->meaning, "."), "%s", info->key);
        ck_assert_msg(!info->section || *info->section, "%s", info->key);
    }
    ck_assert_ptr_nonnull(metric_info(METRIC_NONE + 1)->section);
}
END_TEST

START_TEST(keys_differ)
{
    for (enum metric a = METRIC_NONE + 1; a < METRIC_COUNT; a++)
        for (enum metric b = a + 1; b < METRIC_COUNT; b++)
            ck_assert_str_ne(metric_info(a)->key, metric_info(b)->key);
}
END_TEST

/* The words of a note are a format, so a wrong one would read what is not there. */
static void assert_formats_one_double(const struct metric_info *info)
{
    const char *percent = strchr(info->words, '%');
    ck_assert_msg(percent && !strchr(percent + 1, '%'), "%s", info->key);
    percent += 1 + strspn(percent + 1, ".0123456789");
    bool span = *percent == 't' && info->unit == UNIT_S; /* metric_add_note() writes it */
    ck_assert_msg(*percent == 'f' || span, "%s", info->key);
}

START_TEST(words_fit_the_effect)
{
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        const struct metric_info *info = metric_info(m);
        bool counts = info->effect == EFFECT_LOSS || info->effect == EFFECT_DOUBT;
        ck_assert_msg(!info->words == (info->effect == EFFECT_NONE), "%s", info->key);
        ck_assert_msg(!info->noun || counts, "%s", info->key);
        ck_assert_msg(info->noun || !counts || !strchr(info->words, '%'), "%s", info->key);
        ck_assert_msg(!counts || info->unit == UNIT_COUNT, "%s", info->key);
        if (info->effect == EFFECT_NOTE)
            assert_formats_one_double(info);
    }
}
END_TEST

/* A counter that the worker maps to no metric, or two to one, would be lost. */
START_TEST(every_counter_of_the_sampler_is_a_metric)
{
    struct sampler_counters c = {0};
    struct profile *p = profile_new(0);
    double sum = 0;
    for (int i = 0; i < SAMPLER_COUNTER_COUNT; i++)
        counters_add(&c, (enum sampler_counter)i, 1);
    metadata_of_sampler(p, &c);
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++)
        sum += profile_number(p, m);
    ck_assert_double_eq(sum, SAMPLER_COUNTER_COUNT);
    ck_assert_double_eq(profile_number(p, METRIC_UNREADABLE), 1);
    profile_free(p);
}
END_TEST

CHECK_MAIN("metrics", 20, every_metric_is_described, keys_differ, words_fit_the_effect,
           every_counter_of_the_sampler_is_a_metric)
