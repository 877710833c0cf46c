/* A library that looks a price up, which takes 20 ms, most of it waiting.  For quote.py. */
#include <unistd.h>

int tariff_price(int item);
int tariff_price(int item)
{
    usleep(20000);
    return item * 7 % 100;
}
