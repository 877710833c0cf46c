#include "tests/support/findings_json.h"

#include <stdlib.h>

#include "exporter/findings_block.h"
#include "summary/findings.h"

char *findings_json(const struct profile *p, const struct view_options *view)
{
    char *s = NULL;
    size_t len = 0;
    struct groups groups;
    struct findings findings;
    FILE *out = open_memstream(&s, &len);
    if (!out)
        return NULL;
    groups_init(&groups, p, view);
    findings_init(&findings, &groups);
    bool written = findings_block_write(&findings, out) == 0;
    findings_release(&findings);
    groups_release(&groups);
    (void)fclose(out);
    if (!written) {
        free(s);
        s = NULL;
    }
    return s;
}
