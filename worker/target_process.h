/* One process that is being recorded: the parts that turn its snapshots into stacks of the profile.
 * Used by the worker; the capture hook it makes runs on the sampler's thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/duty_cycle.h"
#include "base/err.h"
#include "base/hash.h"
#include "profile/profile.h"
#include "pyframes/py_code.h"
#include "pyframes/py_code_store.h"
#include "pyframes/py_gc.h"
#include "pyframes/py_merge.h"
#include "pyframes/py_runtime.h"
#include "pyframes/py_task.h"
#include "pyframes/py_thread_names.h"
#include "sampler/sampler.h"
#include "symbolizer/symbolizer.h"
#include "target/modules.h"
#include "target/mount.h"
#include "unwinder/unwinder.h"
#include "waits/waits.h"
#include "worker/rank.h"

/* A Python runtime found in the process.  One that execve left behind is kept until the sampler has
 * noticed another execve after that, because the sampler may be in the middle of its hook. */
struct python {
    struct py_runtime *runtime;
    struct py_capture *capture;
    struct py_codes *codes;
    struct py_merger *merger;
    struct py_thread_names *names;
    struct py_thread_names *filter_names; /* the sampler's thread's own */
    struct py_gc *gc;
    struct py_tasks *tasks; /* NULL: not asked for, or there are none (yet) */
    struct capture_hook hook;
    int version_tries; /* to learn the patch level */
    struct python *older;
    int64_t retired_ns; /* when its hook was dropped */
};
/* Makes the readers of RUNTIME for S, which takes RUNTIME over. */
struct target_process;
struct python *python_new(const struct target_process *s, struct py_runtime *runtime);
struct python *
python_free(struct python *python); /* and the older ones; NULL is fine; returns NULL */

struct target_process {
    pid_t pid;
    struct sampler *sampler; /* borrowed */
    uint32_t number;         /* the sampler's */
    process_id id;
    string_id called;            /* its main thread's name, as the profile's `title` has it */
    struct profile *profile;     /* borrowed */
    struct py_scratch *scratch;  /* borrowed */
    struct py_code_store *codes; /* the same */
    struct mem *live;
    struct modules *modules;
    struct unwinder *unwinder;      /* NULL: the process has ended */
    struct unwind_counters unwound; /* by the one that it had then */
    struct symbolizer *symbolizer;
    struct python *python; /* the present one; NULL: none (yet) */
    struct python *old_pythons;
    bool want_tasks, want_locals, want_all_locals;
    bool no_python;      /* not wanted */
    bool python_refused; /* a version that cannot be read, until an exec */
    struct mounts mounts;
    struct rank_watch rank;
    struct map module_ids; /* target module id → module_id */
    struct map frame_ids;  /* look-up address → frame_id, while the maps stay */
    uint32_t maps_generation;
    bool python_pending; /* a runtime is there, but not initialised, or in doubt */
    int64_t doubted_ns;  /* since when; 0: not */
    struct err doubt;
    int64_t heard_ns;        /* the last message of its threads */
    int64_t freezer_read_ns; /* 0: never; whether its cgroup was FROZEN then */
    bool frozen;
    int64_t maps_read_ns, maps_took_ns, maps_pause_ns, maps_wait_ms, objects_read_ns;
    uint32_t objects_generation;
    uint32_t modules_generation; /* when the maps were last read */
    size_t sought_modules;       /* when Python was last looked for */
    struct duty_cycle seeking;   /* of Python */
    thread_id main;              /* its thread's time line, also across execve; none: not yet */
    int64_t execed_ns; /* when that was noticed; 0: not since the main thread's last sample */
};

/* The parts that the processes of one recording share.  Borrowed; outlives them. */
struct target_shared {
    struct sampler *sampler;
    struct profile *profile;
    struct elf_store *files;
    struct stack_cache *stacks;  /* NULL: each process has its own */
    struct py_code_store *codes; /* the same */
    struct py_scratch *scratch;  /* the sampler's thread's; the same */
};
/* Opens PID, which began at START_TICKS (0: at any time), and adds it to sampler and profile of
 * SHARED.  Returns 0; -ESRCH, -EPERM or sampler_add()'s error with ERR: then the profile has no
 * such process. */
int target_process_open(struct target_process **ret, pid_t pid, uint64_t start_ticks,
                        const struct target_shared *shared, struct err *err);
/* One of its threads has run: reads the maps again if they may have changed, and looks for Python
 * where there was none.  Cheap when called often.  NOW: clock_now_ns(). */
void target_process_refresh(struct target_process *s, int64_t now_ns);
/* STACK was unwound, which was taken at TAKEN_NS: did it lead to code that was not mapped when the
 * maps were last read, and is now, or through a file in whose place is another by now (dlclose,
 * dlopen)?  Reads them at once then, as long as reading takes a small part of the time; in the
 *           second case no more than half.  True: they have changed. */
bool target_process_catch_up(struct target_process *s, const struct native_stack *stack,
                             int64_t taken_ns);
/* Does a frame of STACK lie in no known code although the maps could not be read for it, having
 * just been?  A later capture will tell. */
bool target_process_is_behind(const struct target_process *s, const struct native_stack *stack);
/* The recording ends: a Python that is still in doubt is refused, with a warning. */
void target_process_conclude(struct target_process *s);
/* The process runs another program now, which the sampler noticed at NOTICED_NS. */
void target_process_exec(struct target_process *s, int64_t noticed_ns);
/* The profile's frame for native code at PC.  OTHERWISE: what it is called if no file holds it and
 * no compiler has named it; NULL. */
frame_id target_process_native_frame(struct target_process *s, const struct native_frame *f,
                                     const char *otherwise);
/* Describes the process to the profile: command line, Python version. */
void target_process_describe(struct target_process *s);
/* Its main thread is called COMM now: so is the process. */
void target_process_call(struct target_process *s, string_id comm);
/* What waits of its threads are read with. */
struct wait_target target_process_for_waits(struct target_process *s);
/* MESSAGE_PROCESS_END was read: no stack of S will be built.  Frees all but the parts that names
 * need. */
void target_process_end(struct target_process *s);
const struct unwind_counters *target_process_unwound(const struct target_process *s);
struct target_process *target_process_free(struct target_process *s);
