#include "cli/output_name.h"

#include <errno.h>
#include <string.h>

void output_default_pattern(const char *suffix, struct text *out)
{
    text_addf(out, "wallspy-%%c-%%p-%%t%s", suffix);
}

bool output_is_per_process(const char *pattern)
{
    for (const char *s = strchr(pattern, '%'); s && s[1]; s = strchr(s + 2, '%'))
        if (s[1] == 'p' || s[1] == 'q')
            return true;
    return false;
}

/* A value comes from the target: it must not lead to another directory, nor hide the file. */
static void add_value(const char *value, size_t len, struct text *out)
{
    size_t start = out->len;
    bool begins = start == 0 || out->s[start - 1] == '/';
    text_add_tame(out, value, len);
    for (size_t i = start; i < out->len; i++)
        if (strchr("/?", out->s[i]) || (out->s[i] == '.' && i == start && begins))
            out->s[i] = '_';
}

static const char *find_variable(const struct output_subject *subject, const char *name, size_t len)
{
    const char *end = subject->environ + subject->environ_len;
    for (const char *s = subject->environ; s && s < end;) {
        size_t line = strnlen(s, (size_t)(end - s));
        if (line > len && memcmp(s, name, len) == 0 && s[len] == '=')
            return s + len + 1;
        s += line + 1;
    }
    return NULL;
}

/* S stands behind "%q".  Returns how much of it was used, or a negative errno. */
static int add_variable(const char *s, const struct output_subject *subject, struct text *out,
                        struct err *err)
{
    size_t len = strcspn(s, "}");
    if (s[0] != '{' || s[len] != '}' || len < 2)
        return err_set(err, -EINVAL, "%%q wants a variable's name: %%q{RANK}");
    const char *value = find_variable(subject, s + 1, len - 1);
    if (!value)
        return err_set(err, -ENODATA, "%%q{%.*s}: the environment of %d %s", (int)len - 1, s + 1,
                       subject->pid, subject->environ ? "has no such variable" : "cannot be read");
    const char *end = subject->environ + subject->environ_len;
    add_value(value, strnlen(value, (size_t)(end - value)), out);
    return (int)len + 1;
}

/* S stands behind the '%'.  Returns how much of it was used, or a negative errno. */
static int add_one(const char *s, const struct output_subject *subject, struct text *out,
                   struct err *err)
{
    switch (*s) {
    case '%':
        text_add(out, "%");
        return 1;
    case 'c':
        add_value(subject->comm, strlen(subject->comm), out);
        return 1;
    case 'h':
        add_value(subject->host, strlen(subject->host), out);
        return 1;
    case 'p':
        text_addf(out, "%d", subject->pid);
        return 1;
    case 't':
        text_add(out, subject->time);
        return 1;
    case 'q': {
        int n = add_variable(s + 1, subject, out, err);
        return n < 0 ? n : n + 1;
    }
    default:
        return err_set(err, -EINVAL, "%%%.1s in a file name: %%p, %%h, %%t, %%q{NAME} or %%%%", s);
    }
}

int output_expand(const char *pattern, const struct output_subject *subject, struct text *out,
                  struct err *err)
{
    while (*pattern) {
        size_t plain = strcspn(pattern, "%");
        text_add_bytes(out, pattern, plain);
        pattern += plain;
        if (!*pattern)
            break;
        int n = add_one(pattern + 1, subject, out, err);
        if (n < 0)
            return n;
        pattern += 1 + n;
    }
    return 0;
}

/* Where the suffix of NAME begins, in its first LEN bytes; LEN: it has none. */
static size_t suffix_at(const char *name, size_t len)
{
    size_t at = len;
    while (at > 0 && name[at - 1] != '.' && name[at - 1] != '/')
        at--;
    return at > 1 && name[at - 1] == '.' && name[at - 2] != '/' ? at - 1 : len;
}

void output_snap_path(const char *path, unsigned n, struct text *out)
{
    size_t len = strlen(path);
    size_t at = suffix_at(path, len);
    if (str_eq(path + at, ".gz"))
        at = suffix_at(path, at);
    text_add_bytes(out, path, at);
    text_addf(out, ".snap%u%s", n, path + at);
}
