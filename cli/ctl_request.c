#include "cli/ctl_request.h"

#include <string.h>

#include "base/text.h"
#include "profile/moments.h"

static const char *const words[CTL_VERBS] = {
    [CTL_STATUS] = "status",   [CTL_SNAPSHOT] = "snapshot", [CTL_MARK] = "mark",
    [CTL_PAUSE] = "pause",     [CTL_RESUME] = "resume",     [CTL_STOP] = "stop",
    [CTL_TARGETS] = "targets", [CTL_BRIEF] = "brief",
};

const char *ctl_word(enum ctl_verb verb)
{
    return words[verb];
}

/* REST: what stands behind the word and its space. */
static const char *read_rest(struct ctl_request *r, const char *rest)
{
    if (r->verb == CTL_MARK) {
        r->text = rest;
        return mark_text_is_good(rest, strlen(rest))
                   ? NULL
                   : "a mark is 1 to 200 bytes of UTF-8 without control characters";
    }
    r->json = r->verb == CTL_STATUS && str_eq(rest, "--json");
    return !*rest || r->json ? NULL : "too many words";
}

const char *ctl_request_parse(struct ctl_request *ret, char *line, size_t len)
{
    *ret = (struct ctl_request){.verb = CTL_VERBS};
    if (len && line[len - 1] == '\r')
        len--;
    line[len] = '\0';
    size_t word = strcspn(line, " ");
    for (enum ctl_verb verb = 0; verb < CTL_VERBS; verb++)
        if (strlen(words[verb]) == word && memcmp(words[verb], line, word) == 0)
            ret->verb = verb;
    if (ret->verb == CTL_VERBS || strlen(line) != len)
        return "not one of status, snapshot, mark TEXT, pause, resume, stop";
    const char *rest = line + word;
    return read_rest(ret, rest + strspn(rest, " "));
}
