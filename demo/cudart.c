/* Stands in for libcudart: a call that blocks in a real ioctl(2), without a GPU and without root.
 *
 *   worker                       device thread, under a seccomp filter of its own
 *   request ───── semaphore ───► takes 50 ms, then getppid(2), which the filter turns into a
 *   ioctl(NOTIF_RECV) ◄───────── notification, and waits
 *   ioctl(NOTIF_SEND) ─────────► goes on to the next request
 *
 * Source: seccomp_unotify(2).  Both ioctls may be broken off (EINTR) or find that the other side
 * was and starts anew (ENOENT); either is tried again, so the answer always comes. */
#include "cudart.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const long ANSWER_NS = 50L * 1000 * 1000;

static struct {
    pthread_once_t once;
    pthread_mutex_t one_call; /* one request at a time, as the real driver does it */
    sem_t opened, requests;
    int listener; /* the notification fd, or a negative errno */
    atomic_llong ioctl_ns;
    atomic_long calls, eintr;
} device = {.once = PTHREAD_ONCE_INIT, .one_call = PTHREAD_MUTEX_INITIALIZER};

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Puts the calling thread, and no other, under a filter that reports its getppid(2) calls.
 * Returns the notification fd or a negative errno. */
static int listen_to_this_thread(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    long fd =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    return fd < 0 ? -errno : (int)fd;
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) < 0 && errno == EINTR)
        ;
}

static void *device_main(void *unused)
{
    (void)unused;
    device.listener = listen_to_this_thread();
    sem_post(&device.opened);
    while (device.listener >= 0) {
        wait_for(&device.requests);
        long long due_ns = now_ns() + ANSWER_NS;
        struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
            ;
        syscall(SYS_getppid);
    }
    return NULL;
}

static void open_device(void)
{
    sem_init(&device.opened, 0, 0);
    sem_init(&device.requests, 0, 0);
    pthread_t thread;
    int r = pthread_create(&thread, NULL, device_main, NULL);
    if (r != 0) {
        device.listener = -r;
        return;
    }
    pthread_setname_np(thread, "cuda-device");
    pthread_detach(thread);
    wait_for(&device.opened);
}

/* Waits for one notification and answers it.  Returns 0 or an errno. */
static int exchange(void)
{
    for (;;) {
        struct seccomp_notif request;
        memset(&request, 0, sizeof(request)); /* the kernel insists */
        if (ioctl(device.listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0) {
            struct seccomp_notif_resp answer = {.id = request.id};
            if (ioctl(device.listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0)
                return 0;
        }
        if (errno == EINTR)
            device.eintr++;
        else if (errno != ENOENT)
            return errno;
    }
}

int cudaGetDeviceProperties(struct cudaDeviceProp *prop, int number)
{
    if (number != 0)
        return ENODEV;
    pthread_once(&device.once, open_device);
    if (device.listener < 0)
        return -device.listener;
    pthread_mutex_lock(&device.one_call);
    sem_post(&device.requests);
    long long start_ns = now_ns();
    int r = exchange();
    device.ioctl_ns += now_ns() - start_ns;
    device.calls++;
    pthread_mutex_unlock(&device.one_call);
    if (r == 0)
        *prop = (struct cudaDeviceProp){.name = "stand-in", .multiProcessorCount = 1};
    return r;
}

struct cudart_truth cudart_truth(void)
{
    return (struct cudart_truth){
        .ioctl_ns = device.ioctl_ns, .calls = device.calls, .eintr = device.eintr};
}
