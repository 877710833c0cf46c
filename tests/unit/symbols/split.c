/* gcc takes the slow part of such a function out of it, then back in: the function is inlined into
 * itself. */
int flag, given;

__attribute__((noipa)) int begin(void)
{
    return ++given;
}

__attribute__((noipa)) int slow(int x)
{
    return x + given;
}

int
split_up(int x)
{
    if (__builtin_expect(flag == 0, 1))
        return begin();
    int old = begin();
    int r = slow(x) + slow(x + 1);
    given = old;
    return r;
}

int fib(int n)
{
    int x = n;
    if (n < 2)
        return slow(x);
    return fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
    (void)argv;
    return split_up(argc) + split_up(2) + fib(argc);
}
