// Transfers between two accounts.  The culprit: the two threads take the two mutexes in different
// order, and hang; the twin takes both at once.
#include "steady.h"

#include <mutex>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace
{
struct Account {
    std::mutex mutex;
    long balance = 1000;
};

void transfer(Account &from, Account &to)
{
    std::lock_guard<std::mutex> first(from.mutex);
    usleep(1000);
    std::lock_guard<std::mutex> second(to.mutex);
    from.balance--;
    to.balance++;
}

void transfer_at_once(Account &from, Account &to)
{
    std::scoped_lock both(from.mutex, to.mutex);
    usleep(1000);
    from.balance--;
    to.balance++;
}

void work(const steady &run, const char *name, Account &from, Account &to)
{
    pthread_setname_np(pthread_self(), name);
    while (steady_goes_on(&run)) {
        if (run.twin)
            transfer_at_once(from, to);
        else
            transfer(from, to);
        usleep(1000);
    }
}
} // namespace

int main(int argc, char **argv)
{
    Account savings, salary;
    const steady run = steady_begin(argc, argv);
    std::thread deposit(work, std::cref(run), "deposit", std::ref(salary), std::ref(savings));
    std::thread withdraw(work, std::cref(run), "withdraw", std::ref(savings), std::ref(salary));
    deposit.join();
    withdraw.join();
    steady_tell("balance", steady_per_second(&run, static_cast<double>(savings.balance)));
}
