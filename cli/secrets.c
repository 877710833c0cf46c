#include "cli/secrets.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Names whose value is a secret, as the words between '-', '_', '.' and changes of case spell them: "--db-password",
 * "API_KEY", "accessToken", but not "--max-tokens" or "--tokenizer". */
static const char *const secret_words[] = {
    "password", "passwd", "pwd", "pass", "passphrase", "passcode", "secret", "token", "apikey",
    "credential", "credentials", "auth", "authorization", "bearer", "cookie", "jwt", "otp", "sig",
    "signature",
    /* several in one */
    "requirepass", "dbpass", "userpass", "adminpass", "rootpass", "sshpass", "masterauth",
    "secretkey", "accesskey", "privatekey", "authtoken", "accesstoken", "clientsecret", "appsecret",
    "apikeys"};
/* Two words of which neither alone would do. */
static const char *const secret_pairs[][2] = {
    {"api", "key"},     {"access", "key"},      {"private", "key"}, {"account", "key"},
    {"signing", "key"}, {"encryption", "key"},  {"master", "key"},  {"shared", "key"},
    {"license", "key"}, {"subscription", "key"}};

/* How well-known kinds of keys begin, and the length they have at least. */
static const struct {
    const char *prefix;
    size_t min_len;
} key_kinds[] = {
    {"sk-", 20},   {"sk_live_", 20},    {"ghp_", 20},   {"gho_", 20},
    {"ghs_", 20},  {"github_pat_", 20}, {"glpat-", 20}, {"xoxb-", 20},
    {"xoxp-", 20}, {"AKIA", 20},        {"ASIA", 20},   {"AIza", 30},
    {"hf_", 20},   {"eyJ", 30},         {"npm_", 20},   {"pypi-", 20},
};

/* A run of this many letters and digits that changes between lower case, upper case and digits once
 * in so many characters is random: by trial 4 of 10,000 random base64 words of 32 characters change
 * less often (none of 40), and 5 of 1000 long paths under /usr as often.  Hex digits need no test.
 */
enum { MIN_RANDOM_LEN = 32, RANDOM_CHANGES_PER = 4 };

static const char mask[] = "***";

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '+' || c == '/';
}

static bool word_is(const char *word, size_t len, const char *wanted)
{
    return strlen(wanted) == len && strncasecmp(word, wanted, len) == 0;
}

static bool pair_is_secret(const char *first, size_t first_len, const char *second, size_t len)
{
    for (size_t i = 0; i < sizeof secret_pairs / sizeof *secret_pairs; i++)
        if (word_is(first, first_len, secret_pairs[i][0]) &&
            word_is(second, len, secret_pairs[i][1]))
            return true;
    return false;
}

/* Does a word begin at name[i], which no separator precedes? "dbPassword", "APIKey". */
static bool begins_word(const char *name, size_t i, size_t len)
{
    bool before_lower = i + 1 < len && islower((unsigned char)name[i + 1]);
    return isupper((unsigned char)name[i]) &&
           (islower((unsigned char)name[i - 1]) ||
            (isupper((unsigned char)name[i - 1]) && before_lower));
}

static size_t word_len(const char *name, size_t len)
{
    size_t i = 0;
    while (i < len && !strchr("-_.", name[i]) && (i == 0 || !begins_word(name, i, len)))
        i++;
    return i;
}

/* "PGPASSWORD", but not "PGPASSWORD_FILE". */
static bool ends_in_password(const char *name, size_t len)
{
    static const char *const ends[] = {"password", "passwords", "passwd"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (len >= n && strncasecmp(name + len - n, ends[i], n) == 0)
            return true;
    }
    return false;
}

static bool name_is_secret(const char *name, size_t name_len)
{
    const char *previous = name;
    size_t previous_len = 0;
    if (ends_in_password(name, name_len))
        return true;
    for (size_t i = 0; i < name_len;) {
        size_t len = word_len(name + i, name_len - i);
        for (size_t k = 0; k < sizeof secret_words / sizeof *secret_words; k++)
            if (word_is(name + i, len, secret_words[k]))
                return true;
        if (pair_is_secret(previous, previous_len, name + i, len))
            return true;
        previous = name + i;
        previous_len = len;
        i += len;
        i += i < name_len && strchr("-_.", name[i]) != NULL;
    }
    return false;
}

static int kind_of(char c)
{
    if (isdigit((unsigned char)c))
        return 1;
    return isupper((unsigned char)c) ? 2 : 3;
}

static bool looks_random(const char *s, size_t len)
{
    bool digits = false, letters = false, all_hex = true;
    size_t changes = 0;
    for (size_t i = 0; i < len; i++) {
        digits |= isdigit((unsigned char)s[i]) != 0;
        letters |= isalpha((unsigned char)s[i]) != 0;
        all_hex &= isxdigit((unsigned char)s[i]) != 0;
        changes += i > 0 && isalnum((unsigned char)s[i]) && isalnum((unsigned char)s[i - 1]) &&
                   kind_of(s[i]) != kind_of(s[i - 1]);
    }
    return len >= MIN_RANDOM_LEN && digits && letters &&
           (all_hex || changes >= len / RANDOM_CHANGES_PER);
}

/* The length of the key that begins at S; 0: none does. */
static size_t key_at(const char *s)
{
    size_t name_len = 0;
    while (is_name_char(s[name_len]))
        name_len++;
    for (size_t i = 0; i < sizeof key_kinds / sizeof *key_kinds; i++)
        if (str_starts(s, key_kinds[i].prefix) && name_len >= key_kinds[i].min_len)
            return name_len;
    size_t len = 0;
    while (is_key_char(s[len]))
        len++;
    return looks_random(s, len) ? len : 0;
}

/* If S is "name=value", "name: value" or "--name value" of a secret (perhaps quoted), or "Bearer value" (RFC 6750),
 * returns where the value starts, else 0. */
static size_t secret_value_at(const char *s)
{
    size_t len = 0;
    while (is_name_char(s[len]))
        len++;
    if (!len || !name_is_secret(s, len))
        return 0;
    if (word_is(s, len, "Bearer") && s[len] == ' ')
        return len + 1;
    size_t spaces = strspn(s + len, " ");
    if (s[0] == '-' && spaces && s[len + spaces] && !str_starts(s + len + spaces, "--"))
        return len + strspn(s + len, "'\" ");
    len += strspn(s + len, "'\" ");
    if (s[len] != '=' && s[len] != ':')
        return 0;
    len++;
    return len + strspn(s + len, "'\" ");
}

/* Up to the next QUOTE that no backslash precedes. */
static size_t quoted_len(const char *s, char quote)
{
    size_t len = 0;
    while (s[len] && s[len] != quote)
        len += s[len] == '\\' && s[len + 1] ? 2 : 1;
    return len;
}

/* "Basic" and the like: what follows is the secret. */
static size_t scheme_len(const char *s)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "Token ", "Digest ", "Negotiate "};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(s, schemes[i], strlen(schemes[i])) == 0)
            return strlen(schemes[i]);
    return 0;
}

/* How long the value is that starts at S + START within an argument: to the end of what is quoted; what is not quoted, to
 * the end of its word; behind "name: ", as in a header, to the end of the line. */
static size_t secret_value_len(const char *arg, const char *s, size_t start)
{
    const char *value = s + start;
    char before = value[-1];
    if (before == '"' || before == '\'')
        return quoted_len(value, before);
    char outside = (char)(s > arg ? s[-1] : '\0');
    if (outside == '"' || outside == '\'')
        return quoted_len(value, outside);
    if (start >= 2 && before == ' ' && value[-2] == ':')
        return strcspn(value, "'\"\n}])");
    size_t scheme = scheme_len(value);
    return scheme + strcspn(value + scheme, "'\" &;,}])");
}

/* If S is "://user:password@", returns where the password starts and its length.  One that holds a '/', which it should
 * not, is told from a port by what is no digit. */
static size_t url_password_at(const char *s, size_t *ret_len)
{
    if (!str_starts(s, "://"))
        return 0;
    size_t end = 3 + strcspn(s + 3, "/?# '\"");
    const char *colon = memchr(s + 3, ':', end - 3);
    if (!colon)
        return 0;
    bool port = colon + 1 + strspn(colon + 1, "0123456789") == s + end;
    if (!port)
        end += strcspn(s + end, " '\"");
    const char *at = memrchr(colon, '@', (size_t)(s + end - colon));
    if (!at)
        return 0;
    *ret_len = (size_t)(at - colon) - 1;
    return (size_t)(colon + 1 - s);
}

/* If a secret begins soon behind S, which is in ARG, adds what stands before it and the mask, and returns how much
 * of S that was; else 0. */
static size_t mask_at(const char *arg, const char *s, struct text *out)
{
    size_t len = 0;
    size_t start = secret_value_at(s);
    if (start)
        len = s == arg ? strlen(s + start) : secret_value_len(arg, s, start);
    else
        start = url_password_at(s, &len);
    if (!start)
        len = key_at(s);
    if (!len)
        return 0;
    text_add_bytes(out, s, start);
    text_add(out, mask);
    return start + len;
}

static void mask_argument(const char *arg, struct text *out)
{
    for (const char *s = arg; *s;) {
        bool boundary = s == arg || !is_key_char(s[-1]) || *s == ':';
        size_t n = boundary ? mask_at(arg, s, out) : 0;
        if (!n)
            text_add_bytes(out, s, n = 1);
        s += n;
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

/* "--password" alone: the next argument is its value. */
static bool announces_secret(const char *arg)
{
    size_t len = strlen(arg);
    for (size_t i = 0; i < len; i++)
        if (!is_name_char(arg[i]))
            return false;
    return arg[0] == '-' && name_is_secret(arg, len);
}

/* "-u" of curl: "user:password" comes next. */
static bool announces_user(const char *arg)
{
    return str_eq(arg, "-u") || str_eq(arg, "--user") || str_eq(arg, "--proxy-user");
}

void secrets_each_argument(const char *args, size_t len,
                           void (*each)(void *ctx, const char *masked), void *ctx)
{
    struct text all = {0}; /* ended by a NUL, as the last argument might not be */
    struct text masked = {0};
    text_add_bytes(&all, args, len);
    bool secret = false;
    bool user = false;
    for (const char *arg = all.s; arg < all.s + len; arg += strlen(arg) + 1) {
        const char *colon = user ? strchr(arg, ':') : NULL;
        text_clear(&masked);
        if (colon)
            text_add_bytes(&masked, arg, (size_t)(colon + 1 - arg));
        if (colon || (secret && !str_starts(arg, "--")))
            text_add(&masked, mask);
        else
            mask_argument(arg, &masked);
        secret = announces_secret(arg);
        user = announces_user(arg);
        each(ctx, masked.len ? masked.s : "");
    }
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
