/* An allocator gives memory back to the kernel while it has the lock of its heap. */
#include <pthread.h>
#include <sys/mman.h>

#include "account.h"

enum { APPS = 3, SPAN = 256 << 20, PAGE = 4096 };
static pthread_mutex_t page_heap = PTHREAD_MUTEX_INITIALIZER;
static double waited[APPS];
static size_t next_page;
static char *span;

static char *page_alloc(double *waits)
{
    double begin = now_s();
    pthread_mutex_lock(&page_heap);
    *waits += now_s() - begin;
    next_page = (next_page + PAGE) % SPAN;
    char *page = span + next_page;
    pthread_mutex_unlock(&page_heap);
    return page;
}

static void *handle_requests(void *waits)
{
    pthread_setname_np(pthread_self(), "app");
    while (goes_on()) {
        page_alloc(waits)[0] = 1;
        rest(0.0002);
    }
    return NULL;
}

static void *release_free_memory(void *nothing)
{
    pthread_setname_np(pthread_self(), "releaser");
    while (goes_on()) {
        madvise(span, SPAN, MADV_POPULATE_WRITE);
        pthread_mutex_lock(&page_heap);
        for (size_t page = 0; page < SPAN; page += PAGE)
            madvise(span + page, PAGE, MADV_DONTNEED);
        pthread_mutex_unlock(&page_heap);
    }
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t threads[APPS + 1];
    span = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc < 2 || madvise(span, SPAN, MADV_NOHUGEPAGE) < 0)
        return 2;
    ready(argv);
    pthread_create(&threads[APPS], NULL, release_free_memory, NULL);
    for (int i = 0; i < APPS; i++)
        pthread_create(&threads[i], NULL, handle_requests, &waited[i]);
    for (int i = 0; i <= APPS; i++)
        pthread_join(threads[i], NULL);
    tell("page_alloc", (waited[0] + waited[1] + waited[2]) / APPS);
}
