#include "target/elf_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "target/elf_layout.h"

/* A signal handler has no context: this is the one place for its state. */
static _Atomic uint64_t pages;

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    uint64_t page = elf_page_down((uint64_t)(uintptr_t)info->si_addr);
    void *zeros = MAP_FAILED;
    if (info->si_code == BUS_ADRERR)
        zeros = mmap((void *)(uintptr_t)page, ELF_PAGE_BYTES, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) {
        /* The access is tried again, or the signal sent again, and ends us. */
        (void)signal(signal_number, SIG_DFL);
        if (info->si_code <= 0)
            (void)raise(signal_number);
    } else {
        atomic_fetch_add(&pages, 1);
    }
    errno = saved;
}

int elf_guard_install(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

uint64_t elf_guard_pages(void)
{
    return atomic_load(&pages);
}

void elf_guard_add_pages(uint64_t n)
{
    atomic_fetch_add(&pages, n);
}
