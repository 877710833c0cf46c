#include "cli/secrets.h"

#include <string.h>

#include "tests/support/check_main.h"

/* '|' stands for the NUL between arguments. */
static const struct {
    const char *args, *shown;
} cases[] = {
    {"python3|train.py|--lr|0.1", "python3 train.py --lr 0.1"},
    {"x|--password=hunter2|y", "x --password=*** y"},
    {"x|--password|hunter2|y", "x --password *** y"},
    {"x|--password|--verbose", "x --password --verbose"},
    {"x|--db-password|a b", "x --db-password ***"},
    {"x|-token|abc", "x -token ***"},
    {"env|API_KEY=abc|PGPASSWORD_FILE=/x", "env API_KEY=*** PGPASSWORD_FILE=/x"},
    {"x|--max-tokens|4096|--tokenizer=gpt2", "x --max-tokens 4096 --tokenizer=gpt2"},
    {"x|--aws-secret-access-key=a/b", "x --aws-secret-access-key=***"},
    {"x|--pwd=a|--db-pwd|b|--bearer|c|--jwt=d", "x --pwd=*** --db-pwd *** --bearer *** --jwt=***"},
    {"x|--master-key=a|--key=2|--sort-key|name", "x --master-key=*** --key=2 --sort-key name"},
    {"x|--header|Bearer abc def", "x --header 'Bearer ***'"},
    {"curl|https://h/b?sv=1&sig=a%2Bb&x=1", "curl 'https://h/b?sv=1&sig=***&x=1'"},
    {"x|AKIAIOSFODNN7EXAMPLE", "x ***"},
    {"x|--k|wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "x --k ***"},
    {"x|sk-proj-abcdefghijklmnop1234", "x ***"},
    {"x|sk-learn", "x sk-learn"},
    {"psql|postgres://bob:s3cret@db:5432/x", "psql postgres://bob:***@db:5432/x"},
    {"x|http://host:80/a@b", "x http://host:80/a@b"},
    {"curl|-H|Authorization: Bearer abc def", "curl -H 'Authorization: ***'"},
    {"curl|http://h/?token=abc&x=1", "curl 'http://h/?token=***&x=1'"},
    {"x|{\"password\": \"abc\", \"n\": 1}", "x '{\"password\": \"***\", \"n\": 1}'"},
    {"x|0123456789abcdef0123456789abcdef", "x ***"},
    {"x|/usr/lib/python3/dist-packages/numpy/core/include/numpy/ndarraytypes.h",
     "x /usr/lib/python3/dist-packages/numpy/core/include/numpy/ndarraytypes.h"},
    {"x|GPU-8f6d7a3e-1b2c-4d5e-8f90-a1b2c3d4e5f6", "x GPU-8f6d7a3e-1b2c-4d5e-8f90-a1b2c3d4e5f6"},
    {"python|-c|import os\nprint('x')", "python -c 'import os print('\\''x'\\'')'"},
    {"x|--dbPassword=a|--clientSecret|b|awsSecretAccessKey=c|--APIKey=d",
     "x --dbPassword=*** --clientSecret *** awsSecretAccessKey=*** --APIKey=***"},
    {"x|{\"accessToken\": \"abc\"}|--maxTokens=5", "x '{\"accessToken\": \"***\"}' --maxTokens=5"},
    {"sh|-c|run --token abc -v --password", "sh -c 'run --token *** -v --password'"},
    {"x|--dbpass=a|SSHPASS=b|--userpass|c", "x --dbpass=*** SSHPASS=*** --userpass ***"},
    {"x|PGPASSWORD=a|--passwords=b", "x PGPASSWORD=*** --passwords=***"},
    {"x|--api-token|-abc|--api-token|--v", "x --api-token *** --api-token --v"},
    {"curl|-u|bob:hunter2|h|--user|bob", "curl -u bob:*** h --user bob"},
    {"psql|postgres://bob:a/b@db|http://h:80/x:y@z",
     "psql postgres://bob:***@db http://h:80/x:y@z"},
    {"sh|-c|curl -H \"Authorization: Basic dXNl\" x; mysql --password \"a b\" db",
     "sh -c 'curl -H \"Authorization: ***\" x; mysql --password \"***\" db'"},
    {"sh|-c|curl -H \"X-Api-Key: a b\" x", "sh -c 'curl -H \"X-Api-Key: ***\" x'"},
    {"bash|-c|PASSWORD=\"horse battery\" ./run", "bash -c 'PASSWORD=\"***'"},
    {"bash|-c|cd /; TOKEN='a\\'b c' ./run", "bash -c 'cd /; TOKEN='\\''***'\\'' ./run'"},
    {"app|{\"password\": \"p,ss}word;x\", \"x\":1}", "app '{\"password\": \"***\", \"x\":1}'"},
    {"x|--header=Cookie: a=b; session=c", "x '--header=Cookie: ***'"},
    {"sh|-c|run auth=Basic abc x", "sh -c 'run auth=*** x'"},
    {"x|--requirepass|a|--secretkey=b", "x --requirepass *** --secretkey=***"},
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
    ck_assert_ptr_nonnull(strstr(t.s, "postgres://u:***"));
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
