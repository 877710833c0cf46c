// A thread for each request.
#include <future>

#include "account.h"

static double starting;

static int fetch(int request)
{
    compute(0.00002);
    return request * 2;
}

static int get_async(int request)
{
    double begin = now_s();
    std::future<int> answer = std::async(std::launch::async, fetch, request);
    int result = answer.get();
    starting += now_s() - begin - 0.00002;
    return result;
}

static void use(int answer)
{
    compute(0.00002 + answer % 2 * 1e-6);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    ready(argv);
    for (int i = 0; goes_on(); i++)
        use(get_async(i));
    tell("get_async", starting);
}
