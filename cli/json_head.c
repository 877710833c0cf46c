#include "cli/json_head.h"

#include <unistd.h>

#include "base/clock.h"

void json_head(struct json *j, const char *schema)
{
    char host[256] = "";
    char time[CLOCK_UTC_BYTES];
    clock_utc_text(time);
    (void)gethostname(host, sizeof host - 1);
    json_object(j);
    json_string_field(j, "schema", schema);
    json_string_field(j, "wallspy", WALLSPY_VERSION);
    json_string_field(j, "host", host);
    json_string_field(j, "time", time);
}
