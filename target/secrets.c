#include "target/secrets.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* A name is secret if one of its words, split at '-' and '_', is here.  docs/safety.md lists them,
 * so that a reader can predict what is masked, and what is not. */
static const char *const secret_words[] = {
    "pass", "password", "passwd", "passphrase",  "secret", "token",         "key",
    "cred", "creds",    "apikey", "credentials", "auth",   "authorization", "pin"};

static const char mask[] = "***";
static const char space[] = " \t\n";

/* The meaning of the next word of a command line, after the words so far. */
struct reading {
    bool mysql;         /* the program takes "-pPASSWORD" */
    bool redis;         /* it takes "-a PASSWORD" */
    bool value_follows; /* the last word was the name of a secret option */
};

static bool is_secret_word(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof secret_words / sizeof *secret_words; i++)
        if (strlen(secret_words[i]) == len && strncasecmp(word, secret_words[i], len) == 0)
            return true;
    return false;
}

bool secrets_is_name(const char *name, size_t len)
{
    size_t start = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && name[i] != '-' && name[i] != '_')
            continue;
        if (is_secret_word(name + start, i - start))
            return true;
        start = i + 1;
    }
    return false;
}

static size_t name_len(const char *s)
{
    size_t len = 0;
    while (isalnum((unsigned char)s[len]) || (s[len] && strchr("-_.", s[len])))
        len++;
    return len;
}

/* Up to the next space that is not between quotes. */
static size_t word_len(const char *s)
{
    size_t len = 0;
    while (s[len] && !strchr(space, s[len])) {
        bool opens = strchr("'\"", s[len]) && (len == 0 || s[len - 1] == '=');
        const char *closing = opens ? strchr(s + len + 1, s[len]) : NULL;
        len = closing ? (size_t)(closing - s) + 1 : len + 1;
    }
    return len;
}

/* Adds the mask for the user of a URL of which "://" at S is a part.  Returns how many bytes at S
 * that stands for; 0: there is none. */
static size_t mask_user(const char *s, size_t len, struct text *out)
{
    if (len < 3 || !str_starts(s, "://"))
        return 0;
    size_t end = 3;
    while (end < len && !strchr("/?#", s[end]))
        end++;
    const char *at = memrchr(s, '@', end);
    if (at)
        text_addf(out, "://%s", mask);
    return at ? (size_t)(at - s) : 0;
}

/* Adds a word in which no name is secret: of URLs in it the users and the values behind the '?' are
 * masked. */
static void add_masking_urls(const char *word, size_t len, struct text *out)
{
    bool url = false;
    bool query = false;
    for (size_t i = 0; i < len;) {
        url |= str_starts(word + i, "://");
        size_t n = mask_user(word + i, len - i, out);
        if (!n)
            text_add_bytes(out, word + i, n = 1);
        query = (query && word[i] != '#') || (url && word[i] == '?');
        bool is_value = query && word[i] == '=';
        i += n;
        if (is_value) {
            text_add(out, mask);
            i += strcspn(word + i, "&;#'\" \t\n");
        }
    }
}

/* How much of "NAME=VALUE", "--name=VALUE", mysql's "-pVALUE" is shown before the mask; 0: all. */
static size_t shown_of(const struct reading *r, const char *word)
{
    size_t len = name_len(word);
    if (word[len] == '=' && secrets_is_name(word, len))
        return len + 1;
    return r->mysql && str_starts(word, "-p") && word[2] ? 2 : 0;
}

/* Adds the word at S, or all of the argument ARG if that begins with a secret.  Returns how much of
 * S it was. */
static size_t mask_word(struct reading *r, const char *arg, const char *s, struct text *out)
{
    size_t len = word_len(s);
    size_t all = s == arg ? strlen(s) : len;
    size_t shown = shown_of(r, s);
    bool is_value = r->value_follows && !str_starts(s, "--");
    r->value_follows = false;
    if (is_value || shown) {
        text_add_bytes(out, s, is_value ? 0 : shown);
        text_add(out, mask);
        return all;
    }
    r->value_follows = *s == '-' && name_len(s) == len &&
                       (secrets_is_name(s, len) || (r->redis && len == 2 && s[1] == 'a'));
    add_masking_urls(s, len, out);
    return len;
}

/* ---- "NAME": VALUE, and NAME: VALUE ---- */

/* How many bytes at S are a quote, maybe one in a string of another language: \". */
static size_t quote_len(const char *s)
{
    size_t escapes = strspn(s, "\\");
    return s[escapes] == '"' || s[escapes] == '\'' ? escapes + 1 : 0;
}

/* Of JSON, of Python's dicts: where the value of the quoted name that ends at S begins; NULL: no
 * value follows. */
static const char *value_in_object(const char *s)
{
    s += quote_len(s);
    s += strspn(s, space);
    return *s == ':' ? s + 1 + strspn(s + 1, space) : NULL;
}

/* The end of an object's value that begins at S: behind its closing quote, or before what ends a
 * number. */
static const char *object_value_end(const char *s)
{
    size_t quote = quote_len(s);
    if (!quote)
        return s + strcspn(s, ",}] \t\n");
    for (const char *end = s + quote; *end; end++)
        if (strncmp(end, s, quote) == 0 && (quote > 1 || end[-1] != '\\'))
            return end + quote;
    return s + strlen(s);
}

/* Adds the mask for the value of the secret name of LEN bytes at S; QUOTED: a quote stands before
 * it.  A header's value goes to the end of the header's own quotes.  Returns how many bytes of S
 * that was; 0: the name has no value. */
static size_t mask_pair(const char *s, size_t len, bool quoted, struct text *out)
{
    const char *value = quoted && quote_len(s + len) ? value_in_object(s + len) : NULL;
    const char *end = value ? object_value_end(value) : NULL;
    if (!value && s[len] == ':' && s[len + 1] == ' ') {
        value = s + len + 1 + strspn(s + len + 1, " ");
        end = value + strcspn(value, "'\"\n");
    }
    if (!value || end == value)
        return 0;
    text_add_bytes(out, s, (size_t)(value - s));
    text_add(out, mask);
    return (size_t)(end - s);
}

/* Adds ARG without the values of the secret names in it that a ':' follows. */
static void mask_pairs(const char *arg, struct text *out)
{
    for (const char *s = arg; *s;) {
        size_t len = name_len(s);
        bool quoted = s > arg && (s[-1] == '"' || s[-1] == '\'');
        size_t masked = len && secrets_is_name(s, len) ? mask_pair(s, len, quoted, out) : 0;
        if (!masked)
            text_add_bytes(out, s, masked = len ? len : 1);
        s += masked;
    }
}

/* An argument may be a command line itself (sh -c). */
static void mask_argument(struct reading *r, const char *arg, struct text *out)
{
    for (const char *s = arg; *s;) {
        size_t gap = strspn(s, space);
        text_add_bytes(out, s, gap);
        s += gap;
        if (*s)
            s += mask_word(r, arg, s, out);
    }
}

static void quote(const char *arg, struct text *out)
{
    bool plain = *arg != '\0';
    for (const char *s = arg; *s; s++)
        plain = plain && (isalnum((unsigned char)*s) || strchr("%+,-./:=@_*[]{}", *s) ||
                          (unsigned char)*s >= 0x80);
    if (plain) {
        text_add(out, arg);
        return;
    }
    text_add(out, "'");
    for (const char *s = arg; *s; s++) {
        if (*s == '\'')
            text_add(out, "'\\''");
        else
            text_add_bytes(out, iscntrl((unsigned char)*s) ? " " : s, 1);
    }
    text_add(out, "'");
}

static bool is_mysql(const char *program)
{
    const char *name = path_base(program);
    return str_starts(name, "mysql") || str_starts(name, "mariadb");
}

static bool is_redis(const char *program)
{
    const char *name = path_base(program);
    return str_starts(name, "redis-cli") || str_starts(name, "valkey-cli");
}

void secrets_each_argument(const char *args, size_t len,
                           void (*each)(void *ctx, const char *masked), void *ctx)
{
    struct text all = {0}; /* ended by a NUL, as the last argument might not be */
    struct text pairs = {0};
    struct text masked = {0};
    text_add_bytes(&all, args, len);
    struct reading reading = {.mysql = len && is_mysql(all.s), .redis = len && is_redis(all.s)};
    for (const char *arg = all.s; arg < all.s + len; arg += strlen(arg) + 1) {
        text_clear(&masked);
        text_clear(&pairs);
        mask_pairs(arg, &pairs);
        mask_argument(&reading, pairs.len ? pairs.s : "", &masked);
        each(ctx, masked.len ? masked.s : "");
    }
    text_release(&pairs);
    text_release(&all);
    text_release(&masked);
}

static void add_quoted(void *ctx, const char *masked)
{
    struct text *line = ctx;
    if (line->len)
        text_add(line, " ");
    quote(masked, line);
}

size_t secrets_looked_at(const char *args, size_t len)
{
    const size_t max = (size_t)2 * SECRETS_MAX_COMMAND_BYTES;
    if (len <= max)
        return len;
    const char *end = memrchr(args, '\0', max);
    return end ? (size_t)(end - args) : max;
}

void secrets_command_line(const char *args, size_t len, struct text *out)
{
    struct text line = {0};
    size_t looked = secrets_looked_at(args, len);
    text_add(&line, "");
    secrets_each_argument(args, looked, add_quoted, &line);
    bool cut = looked < len || line.len > SECRETS_MAX_COMMAND_BYTES;
    text_add_bytes(out, line.s,
                   line.len < SECRETS_MAX_COMMAND_BYTES ? line.len : SECRETS_MAX_COMMAND_BYTES);
    if (cut)
        text_add(out, " ...");
    text_release(&line);
}
