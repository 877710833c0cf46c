/* A library for the tests to map; ANSWER makes one build differ from another. */
int plugin_answer(void);
extern int plugin_data;
extern char plugin_zeros[100000];

int plugin_data = 0x12345678;
char plugin_zeros[100000];

static __attribute__((noinline, used)) int plugin_local(int x)
{
    return x + plugin_data + plugin_zeros[x & 1];
}

int plugin_answer(void)
{
    return plugin_local(ANSWER);
}
