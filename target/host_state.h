/* How the machine is set up, and how short of memory and of CPUs it is.  Parsers are pure and take
 * texts that may lack their last bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { HOST_WORDS_BYTES = 64 };

/* Texts are "" where the kernel does not tell. */
struct host_setup {
    char governor[HOST_WORDS_BYTES]; /* of the CPUs' frequency; "performance, powersave": of some */
    char huge_pages[HOST_WORDS_BYTES], huge_pages_defrag[HOST_WORDS_BYTES];
    int numa_balancing;  /* 0: off, above: on, −1: not known */
    uint32_t numa_nodes; /* with memory; 0: not known */
};
/* Source: Documentation/admin-guide/mm/transhuge.rst, .../sysctl/kernel.rst, .../pm/cpufreq.rst. */
void host_setup_read(struct host_setup *ret);
/* The word in brackets: "madvise" of "always [madvise] never"; "": there is none. */
void host_choice_parse(const char *text, size_t len, char ret[HOST_WORDS_BYTES]);
/* How many numbers a list has: 5 of "0-3,8"; 0: it is malformed. */
uint32_t host_list_parse(const char *text, size_t len);

/* For how long tasks had to wait, since the machine's start: some of them, or all that were not
 * idle. */
struct host_pressure {
    bool known;
    int64_t some_ns, full_ns;
};
/* The text of a file of /proc/pressure.  Source: Documentation/accounting/psi.rst. */
struct host_pressure host_pressure_parse(const char *text, size_t len);

/* Counts since the machine's start. */
struct host_paging {
    bool swap_known, numa_known;
    uint64_t swap_ins, swap_outs; /* pages */
    /* Automatic NUMA balancing: entries of page tables that it marked, the faults that these led
     * to, those of them on the page's own node, and the pages that it moved. */
    uint64_t numa_marked, numa_faults, numa_faults_local, numa_moved;
};
/* The text of /proc/vmstat.  Source: Linux mm/vmstat.c vmstat_text. */
struct host_paging host_paging_parse(const char *text, size_t len);

/* How many processes and threads were started since the machine's start, from the text of
 * /proc/stat; false: it does not say.  Source: proc_stat(5); Linux kernel/fork.c total_forks. */
bool host_starts_parse(const char *text, size_t len, uint64_t *ret);

struct host_state {
    double load; /* average of a minute; −1: not known */
    bool starts_known;
    uint64_t starts; /* of processes and threads */
    struct host_pressure cpu_pressure, memory_pressure;
    struct host_paging paging;
};
struct host_state host_state_read(void);

/* The kernel's own name of this machine's run; "" where it does not tell.  Source: random(4). */
void host_boot_id(char ret[HOST_WORDS_BYTES]);

/* How much of PID's memory is swapped out, in bytes; −1: not known. */
int64_t host_swapped_bytes(pid_t pid);
/* The same from the text of its status.  Source: proc_pid_status(5), VmSwap. */
int64_t host_swapped_parse(const char *text, size_t len);
