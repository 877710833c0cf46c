#include "target/secrets.h"

#include <string.h>

#include "tests/support/check_main.h"

/* '|' stands for the NUL between arguments. */
static const struct {
    const char *args, *shown;
} cases[] = {
    {"python3|train.py|--lr|0.1", "python3 train.py --lr 0.1"},
    {"x|--password=hunter2|y", "x --password=*** y"},
    {"x|--password=two words|y", "x --password=*** y"},
    {"x|--password|hunter2|y", "x --password *** y"},
    {"x|--db-password|a b", "x --db-password ***"},
    {"x|--password|--verbose|z", "x --password --verbose z"},
    {"x|--api-token|-abc|-token|abc", "x --api-token *** -token ***"},
    {"x|--pass|a|--passwd=b|--client_secret=c", "x --pass *** --passwd=*** --client_secret=***"},
    {"x|--key=1|--cred|a|--credentials|b|--auth=c|--pin|d",
     "x --key=*** --cred *** --credentials *** --auth=*** --pin ***"},
    {"env|API_KEY=abc|HOME=/x|y", "env API_KEY=*** HOME=/x y"},
    {"x|--max-tokens|4096|--tokenizer=gpt2|--keys=7",
     "x --max-tokens 4096 --tokenizer=gpt2 --keys=7"},
    {"x|--monkey=1|--spinner|a|authors=b", "x --monkey=1 --spinner a authors=b"},
    {"/usr/bin/mysql|-uroot|-phunter2|-p|db", "/usr/bin/mysql -uroot -p*** -p db"},
    {"mariadb-dump|-pa b|db", "mariadb-dump -p*** db"},
    {"ssh|-p22|host", "ssh -p22 host"},
    {"psql|postgres://bob:s3cret@db:5432/x", "psql postgres://***@db:5432/x"},
    {"git|clone|https://ghp_abc@github.com/a/b", "git clone https://***@github.com/a/b"},
    {"x|--brokers=amqp://a:b@h,amqp://c:d@i", "x --brokers=amqp://***@h,amqp://***@i"},
    {"x|http://host:80/a@b", "x http://host:80/a@b"},
    {"curl|https://h/b?sv=1&sig=a%2Bb&x#top=1", "curl 'https://h/b?sv=***&sig=***&x#top=1'"},
    {"x|what?a=b", "x 'what?a=b'"},
    {"sh|-c|run --token abc -v --user=x", "sh -c 'run --token *** -v --user=x'"},
    {"sh|-c|x; PASSWORD=\"a b\" run --key 'c d' e", "sh -c 'x; PASSWORD=*** run --key *** e'"},
    {"env|TOKEN=a b|run", "env TOKEN=*** run"},
    {"sh|-c|curl http://u:p@h/?t=1 -v", "sh -c 'curl http://***@h/?t=*** -v'"},
    {"python|-c|import os\nprint('x')", "python -c 'import os print('\\''x'\\'')'"},
    {"x|--apikey|a|--passphrase=b|--creds|c|APIKEY=d",
     "x --apikey *** --passphrase=*** --creds *** APIKEY=***"},
    {"redis-cli|-h|db|-a|hunter2|-n|1", "redis-cli -h db -a *** -n 1"},
    {"ls|-a|x", "ls -a x"},
    {"curl|-H|Authorization: Bearer abc|h", "curl -H 'Authorization: ***' h"},
    {"curl|-H|X-Api-Key: abc|-H|Accept: a/b", "curl -H 'X-Api-Key: ***' -H 'Accept: a/b'"},
    {"sh|-c|curl -H \"Authorization: Basic abc\" h", "sh -c 'curl -H \"Authorization: ***\" h'"},
    {"x|{\"user\": \"bob\", \"password\": \"a \\\" b\", \"n\":1}",
     "x '{\"user\": \"bob\", \"password\": ***, \"n\":1}'"},
    {"x|{\"token\":12,\"api_key\":\"s\"}", "x '{\"token\":***,\"api_key\":***}'"},
    {"x|{\\\"password\\\": \\\"abc\\\"}", "x '{\\\"password\\\": ***}'"},
    {"x|host:80|key:7|--auth:x|\"keys\": \"a\"", "x host:80 key:7 --auth:x '\"keys\": \"a\"'"},
    {"x|\"password\": \"cut", "x '\"password\": ***'"},
    {"x||y", "x '' y"},
    {"", ""},
};

START_TEST(secrets_are_masked_and_the_rest_is_not)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[256];
        size_t len = strlen(cases[i].args);
        for (size_t k = 0; k <= len; k++)
            args[k] = (char)(cases[i].args[k] == '|' ? '\0' : cases[i].args[k]);
        struct text t = {0};
        secrets_command_line(args, len ? len + 1 : 0, &t);
        ck_assert_str_eq(t.s ? t.s : "", cases[i].shown);
        text_release(&t);
    }
}
END_TEST

/* What tells that it is one lies behind the cut. */
START_TEST(a_cut_leaks_no_secret)
{
    static char args[4 * SECRETS_MAX_COMMAND_BYTES];
    static const char url[] = "postgres://u:SECRETPASSWORD@host";
    memset(args, 'a', sizeof args);
    args[SECRETS_MAX_COMMAND_BYTES - 24] = '\0';
    memcpy(args + SECRETS_MAX_COMMAND_BYTES - 23, url, sizeof url);
    struct text t = {0};
    secrets_command_line(args, sizeof args, &t);
    ck_assert_ptr_null(strstr(t.s, "SECRET"));
    ck_assert_ptr_nonnull(strstr(t.s, "postgres://***@host"));
    text_release(&t);
}
END_TEST

START_TEST(long_lines_are_cut)
{
    static char args[3 * SECRETS_MAX_COMMAND_BYTES];
    memset(args, 'a', sizeof args);
    struct text t = {0};
    secrets_command_line(args, sizeof args, &t);
    ck_assert_uint_eq(t.len, SECRETS_MAX_COMMAND_BYTES + 4);
    ck_assert(str_ends(t.s, "a ..."));
    text_release(&t);
}
END_TEST

CHECK_MAIN("secrets", 20, secrets_are_masked_and_the_rest_is_not, a_cut_leaks_no_secret,
           long_lines_are_cut)
