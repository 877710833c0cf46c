/* Programs whose threads, or whose main thread, end in ways that are easily mistaken: one kind per
 * run.
 *
 * burst       many short threads that spin; the program's exit code is 7
 * main-ends   the main thread ends after 0.2 s, another works on for SECONDS
 * blocked     sleeps below a function with alloca, whose caller cannot be found without registers
 * unreaped    a child that ends after SECONDS, and is not waited for; says its pid */
#include "tests/support/clock.h"

#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 4, EXIT_CODE = 7 };

/* It takes ptrace at the end, which wallspy may have then. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

static void *spin(void *seconds)
{
    double end = now_s() + *(double *)seconds;
    while (now_s() < end)
        ;
    return NULL;
}

static int burst(double seconds)
{
    double each = 0.0015;
    for (double end = now_s() + seconds; now_s() < end;) {
        pthread_t threads[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++)
            pthread_create(&threads[i], NULL, spin, &each);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    return EXIT_CODE;
}

static int main_ends(double seconds)
{
    static double spun;
    pthread_t thread;
    spun = seconds;
    pthread_create(&thread, NULL, spin, &spun);
    usleep(200000);
    pthread_exit(NULL);
}

static __attribute__((noinline)) int inner(size_t bytes)
{
    char *array = alloca(bytes);
    memset(array, 1, bytes);
    int r = nanosleep(&(struct timespec){.tv_sec = 20}, NULL);
    return array[bytes - 1] + r;
}

static __attribute__((noinline)) int outer(size_t bytes)
{
    return inner(bytes) + 1;
}

static int unreaped(double seconds)
{
    pid_t child = fork();
    if (child == 0) {
        usleep((useconds_t)(seconds * 1e6));
        _exit(0);
    }
    printf("%d\n", child);
    (void)fflush(stdout);
    while (getchar() != EOF)
        ;
    waitpid(child, NULL, 0);
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    const char *kind = argc > 1 ? argv[1] : "";
    if (strcmp(kind, "burst") == 0)
        return burst(seconds);
    if (strcmp(kind, "main-ends") == 0)
        return main_ends(seconds);
    if (strcmp(kind, "blocked") == 0) {
        (void)puts("ready");
        (void)fflush(stdout);
        return outer(100 * (size_t)argc);
    }
    return unreaped(seconds);
}
