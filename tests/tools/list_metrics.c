/* Prints the catalogue of metrics for tools/gen-quality, one a line, with tabs between:
 * section (or nothing), key, unit, effect, what the quality line says (or nothing), meaning. */
#include <stdio.h>
#include <stdlib.h>

#include "profile/metric_info.h"

int main(void)
{
    static const char *const effects[] = {[EFFECT_NONE] = "",
                                          [EFFECT_LOSS] = "loss",
                                          [EFFECT_DOUBT] = "doubt",
                                          [EFFECT_NOTE] = "note"};
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        const struct metric_info *info = metric_info(m);
        struct text words = {0};
        metric_add_words(&words, m);
        printf("%s\t%s\t%s\t%s\t", info->section ? info->section : "", info->key,
               metric_unit_text(info->unit), effects[info->effect]);
        printf("%s\t%s\n", words.s ? words.s : "", info->meaning);
        text_release(&words);
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
