#include "exporter/exporter.h"

#include "base/text.h"
#include "exporter/formats.h"

static const struct exporter exporters[] = {
    {"speedscope", ".json", speedscope_write},
    {"folded", ".folded", folded_write},
    {"folded", ".txt", folded_write},
    {"raw", ".folded", folded_write}, /* py-spy's name for it */
};
enum { EXPORTER_COUNT = sizeof exporters / sizeof *exporters };

const struct exporter *exporter_by_name(const char *name)
{
    for (int i = 0; i < EXPORTER_COUNT; i++)
        if (str_eq(exporters[i].name, name))
            return &exporters[i];
    return NULL;
}

const struct exporter *exporter_by_path(const char *path)
{
    for (int i = 0; i < EXPORTER_COUNT; i++)
        if (str_ends(path, exporters[i].suffix))
            return &exporters[i];
    return NULL;
}

int exporter_write(const struct exporter *e, struct profile *p, const struct view_options *options,
                   FILE *out)
{
    profile_forget_fact(p, "coarsened");
    profile_set_number(p, METRIC_STACKS_SHORTENED, 0);
    return e->write(p, options, out);
}
