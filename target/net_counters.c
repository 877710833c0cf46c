#include "target/net_counters.h"

#include <string.h>

#include "target/cursor.h"
#include "target/proc.h"

enum { NETSTAT_BYTES = 16 * 1024 }; /* 4 kB in 2026 */

/* Takes the word in front of C, of LEN bytes; false: the line ends. */
static bool take_word(struct cursor *c, const char **ret, size_t *ret_len)
{
    cursor_skip_spaces(c);
    *ret = c->s;
    while (c->s < c->end && *c->s != ' ' && *c->s != '\n')
        c->s++;
    *ret_len = (size_t)(c->s - *ret);
    return *ret_len > 0;
}

static bool is_word(const char *word, size_t len, const char *wanted)
{
    return len == strlen(wanted) && memcmp(word, wanted, len) == 0;
}

/* Moves C behind the PREFIX of the first line that has it. */
static bool find_line(struct cursor *c, const char *prefix)
{
    while (c->s < c->end) {
        if (cursor_take(c, prefix))
            return true;
        const char *end = memchr(c->s, '\n', (size_t)(c->end - c->s));
        c->s = end ? end + 1 : c->end;
    }
    return false;
}

bool net_counters_parse(const char *text, size_t len, struct net_counters *ret)
{
    static const char prefix[] = "TcpExt:";
    struct cursor names = {text, text + len};
    if (!find_line(&names, prefix))
        return false;
    struct cursor numbers = {names.s, names.end};
    if (!find_line(&numbers, prefix))
        return false;
    unsigned found = 0;
    const char *word;
    size_t word_len;
    while (take_word(&names, &word, &word_len)) {
        uint64_t number;
        cursor_skip_spaces(&numbers);
        if (!cursor_u64(&numbers, 10, &number))
            return false;
        bool overflows = is_word(word, word_len, "ListenOverflows");
        bool repeats = is_word(word, word_len, "TCPSynRetrans");
        found += overflows || repeats;
        if (overflows)
            ret->listen_overflows = number;
        if (repeats)
            ret->syn_repeats = number;
    }
    return found == 2;
}

bool net_counters_read(pid_t pid, struct net_counters *ret)
{
    char text[NETSTAT_BYTES];
    ssize_t len = proc_read_text(pid, 0, "net/netstat", text, sizeof text);
    return len > 0 && net_counters_parse(text, (size_t)len, ret);
}
