/* Two ranks: the first works, in work(), and then sends a number; the second waits for it in
 * receive(), SECONDS long.  The second says "ready" and its pid, and at the end how much CPU time
 * it took in receive(). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void work(double seconds)
{
    for (double end_s = cpu_s() + seconds; cpu_s() < end_s;)
        for (volatile int i = 0; i < 100000; i++)
            ;
}

static __attribute__((noinline)) int receive(void)
{
    int last;
    MPI_Recv(&last, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return last;
}

int main(int argc, char **argv)
{
    int rank;
    double length_s = argc > 1 ? strtod(argv[1], NULL) : 3;
    double waited_s = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        printf("ready %d\n", (int)getpid());
        (void)fflush(stdout);
    }
    double end_s = MPI_Wtime() + length_s;
    for (int last = 0; !last;) {
        if (rank == 0) {
            work(0.1);
            last = MPI_Wtime() >= end_s;
            MPI_Send(&last, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else {
            double begun_s = cpu_s();
            last = receive();
            waited_s += cpu_s() - begun_s;
        }
    }
    if (rank == 1) {
        printf("%f\n", waited_s);
        (void)fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
