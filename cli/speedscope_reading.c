#include "cli/speedscope_reading.h"

#include "base/minmax.h"

bool reading_fail(struct reading *r, const char *wrong)
{
    r->wrong = r->wrong ? r->wrong : wrong;
    return false;
}

bool reading_goes_on(const struct reading *r)
{
    return !r->wrong && !r->j.wrong;
}

string_id reading_text(struct reading *r)
{
    char text[NAME_BYTES];
    return json_in_text(&r->j, text, sizeof text) ? profile_string(r->p, text) : (string_id){0};
}

int64_t reading_count(struct reading *r)
{
    int64_t n = 0;
    if (!json_in_int(&r->j, &n))
        return 0;
    return n < 0 ? 0 : min_i64(n, reading_most_ns);
}

void reading_array(struct reading *r, size_t most, void (*each)(struct reading *r))
{
    if (!json_in_array(&r->j))
        return;
    for (size_t n = 0; json_in_item(&r->j); n++) {
        if (n == most || r->wrong)
            json_in_skip(&r->j);
        else
            each(r);
    }
}
