#include "profile/metric_info.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct metric_info infos[METRIC_COUNT] = {
    [METRIC_RATE_ASKED_HZ] = {"rate_asked_hz", UNIT_HZ, .section = "The whole recording",
                              .meaning = "The rate that `--rate` asked for."},
    [METRIC_RATE_HZ] = {"rate_hz", UNIT_HZ,
                        .meaning = "The mean rate of the ticks that took place."},
    [METRIC_RATE_LOWERED] =
        {"rate_lowered", UNIT_COUNT, .effect = EFFECT_NOTE, .shown = METRIC_RATE_HZ,
         .words = "rate lowered to %.1f Hz",
         .meaning =
             "How often the rate was lowered, because holds cost a thread more than "
             "`--max-overhead`, or wallspy took more CPU time than it may. The line shows the mean "
             "rate."},
    [METRIC_RATE_LOWERED_FOR_QUOTA] =
        {"rate_lowered_for_quota", UNIT_COUNT, .part_of = METRIC_RATE_LOWERED,
         .meaning =
             "How many of these times were because of the CPU quota of wallspy's own cgroup."},
    [METRIC_RATE_LOWERED_FOR_CPU] =
        {"rate_lowered_for_cpu", UNIT_COUNT, .part_of = METRIC_RATE_LOWERED,
         .meaning =
             "How many of these times were because the sampler took more than a tenth of a CPU, or "
             "a hundredth of all, while threads waited for CPUs."},
    [METRIC_THROTTLED_S] =
        {"throttled_s", UNIT_S, .effect = EFFECT_NOTE,
         .words = "wallspy throttled for %.2f s by its cgroup's CPU quota",
         .meaning =
             "The time for which the kernel kept wallspy off the CPUs, because its cgroup had used "
             "up its CPU quota."},
    [METRIC_THROTTLED_PERIODS] = {"throttled_periods", UNIT_COUNT,
                                  .meaning =
                                      "The periods of the CPU quota in which that happened."},
    [METRIC_PAUSED_S] =
        {"paused_s", UNIT_S, .effect = EFFECT_NOTE, .words = "paused for %t",
         .meaning =
             "The time for which the recording was paused (`wallspy ctl pause`, Ctrl-Z). It is in "
             "no other number, and the recording's time stands still meanwhile."},
    [METRIC_RING_S] = {"ring_s", UNIT_S,
                       .meaning = "The last part of its time that the recording keeps (`--ring`); "
                                  "0: it keeps all. Less than was asked for where `--max-size` has "
                                  "no room for that. Counts of this list are of the whole time."},
    [METRIC_MARKS_DROPPED] = {"marks_dropped", UNIT_COUNT, .effect = EFFECT_NOTE,
                              .words = "%.0f marks dropped",
                              .meaning =
                                  "Marks (`wallspy ctl mark`) beyond the 10,000 that are kept."},
    [METRIC_CUT_SHORT] =
        {"cut_short", UNIT_COUNT, .effect = EFFECT_LOSS, .words = "the recording's end is missing",
         .meaning = "1: it is. Wallspy is killed before it, or the file is read while it grows."},
    [METRIC_STOLEN_S] =
        {"stolen_s", UNIT_S,
         .meaning = "The CPU time that the hypervisor gave to other machines, over all CPUs."},
    [METRIC_SEEN_SHARE] =
        {"seen_share", UNIT_SHARE,
         .meaning =
             "The part of the threads' time that the samples stand for. Threads that were almost "
             "always idle do not count."},
    [METRIC_MAX_OVERHEAD] = {"max_overhead", UNIT_SHARE,
                             .meaning = "The bound that `--max-overhead` sets for `overhead_5s`."},
    [METRIC_OVERHEAD] = {"overhead", UNIT_SHARE,
                         .meaning =
                             "The largest part of its time that any one thread lost to holds: the "
                             "CPU time that it would have had while it was held. Where it had a "
                             "CPU for a quarter of the time that it wanted one, because others had "
                             "it, that is a quarter of its holds."},
    [METRIC_OVERHEAD_5S] = {"overhead_5s", UNIT_SHARE,
                            .meaning = "The largest overhead in any five seconds."},
    [METRIC_HELD_SHARE] = {"held_share", UNIT_SHARE,
                           .meaning =
                               "The largest part of its time for which any one thread was held: "
                               "from its stop to its release, whether it would have had a CPU or "
                               "not."},
    [METRIC_HELD_SHARE_5S] = {"held_share_5s", UNIT_SHARE,
                              .meaning = "The same of any five seconds."},
    [METRIC_HELD_NS] = {"held_ns", UNIT_NS, .meaning = "The sum of all holds."},
    [METRIC_HELD_P50_NS] = {"held_p50_ns", UNIT_NS,
                            .meaning = "Half of the holds are no longer than this, to a fifth."},
    [METRIC_HELD_P99_NS] =
        {"held_p99_ns", UNIT_NS,
         .meaning =
             "99 of 100 holds are no longer than this, to a fifth. The line shows it behind p99."},
    [METRIC_HELD_MAX_NS] = {"held_max_ns", UNIT_NS, .meaning = "The longest hold."},
    [METRIC_EXECS] = {"execs", UNIT_COUNT,
                      .meaning = "How often a process became another program by execve."},
    [METRIC_TICKS] = {"ticks", UNIT_COUNT, .section = "Ticks and samples",
                      .meaning = "The ticks at which threads were sampled."},
    [METRIC_LATE_TICKS] =
        {"late_ticks", UNIT_COUNT, .effect = EFFECT_LOSS, .part_of = METRIC_TICKS,
         .part_apart = true, .noun = "tick", .words = "skipped",
         .meaning =
             "Ticks that were left out, because the one before was not done in time. The machine "
             "is busy, or wallspy lacks CPU time."},
    [METRIC_TICK_DELAY_NS] =
        {"tick_delay_ns", UNIT_NS,
         .meaning =
             "The time from when a tick was due to its beginning, summed over all ticks. A mean "
             "above 1 ms and a quarter of the interval is in the line."},
    [METRIC_REPEATS] =
        {"repeats", UNIT_COUNT,
         .meaning =
             "Samples of threads that had not run since the last one, so that its stack is still "
             "right. No stack is read for them."},
    [METRIC_SLEEPERS_PROVEN] =
        {"sleepers_checked", UNIT_COUNT,
         .meaning = "Ticks at which one clock proved that none of the sleeping threads had run."},
    [METRIC_NO_STOP_CAPTURES] = {"no_stop_captures", UNIT_COUNT,
                                 .meaning =
                                     "Samples of blocked threads that were taken without a stop."},
    [METRIC_NO_STOP_REJECTS] =
        {"no_stop_rejects", UNIT_COUNT,
         .meaning =
             "Captures without a stop that were thrown away, because the thread ran meanwhile. "
             "Each is tried up to three times."},
    [METRIC_STOP_REQUESTS] = {"stop_requests", UNIT_COUNT,
                              .meaning = "How often a thread was asked to stop."},
    [METRIC_STOPS] = {"stops", UNIT_COUNT,
                      .meaning = "How often a thread stopped and was captured."},
    [METRIC_PENDING_TICKS] =
        {"pending_ticks", UNIT_COUNT,
         .meaning =
             "How often a thread asked before had still not stopped at a tick. Such threads wait "
             "for a CPU."},
    [METRIC_WAITS_ASKED] = {"waits_asked", UNIT_COUNT,
                            .meaning = "Waits for a CPU whose place a stop has shown."},
    [METRIC_WAITS_UNASKED] =
        {"waits_unasked", UNIT_COUNT,
         .meaning =
             "Waits for a CPU in which a thread was not asked to stop: where many wait only some "
             "are, by chance. Each has the stack of the last wait of its thread that was asked, "
             "with the same Python frames."},
    [METRIC_WAITS_UNKNOWN] =
        {"waits_unknown", UNIT_COUNT,
         .meaning =
             "Of these: no such wait was known. They have their Python frames alone, and the mark "
             "`[native frames not read]`."},
    [METRIC_LOCKS_UNWATCHED] =
        {"locks_unwatched", UNIT_COUNT,
         .meaning =
             "Samples of threads that wait for a lock, beyond the 64 locks of a process that are "
             "read at each tick. Where such a lock changes hands the holder may be unknown."},
    [METRIC_LOCKS_PUT_OFF] =
        {"locks_put_off", UNIT_COUNT,
         .meaning =
             "Ticks at which the locks of a process that threads wait for were not read, because "
             "that takes 1/200 of a CPU at most. A lock that changed hands meanwhile did so in the "
             "middle between two readings, as far as is known."},
    [METRIC_REGISTERS_WANTED] =
        {"registers_wanted", UNIT_COUNT,
         .meaning =
             "Stops of blocked threads whose stacks cannot be unwound without their registers."},
    [METRIC_SUPERVISED] = {"supervised", UNIT_COUNT,
                           .meaning = "Samples of threads in calls that a seccomp supervisor "
                                      "answers. They are not stopped."},
    [METRIC_MEMORY_READS] = {"memory_reads", UNIT_COUNT,
                             .meaning = "System calls that read memory of the target."},
    [METRIC_SLOW_SYSCALL_READS] =
        {"slow_syscall_reads", UNIT_COUNT,
         .meaning =
             "How often the kernel took over 0.5 ms to say in which call a thread is. Such threads "
             "are asked less often."},
    [METRIC_FDS_EVICTED] =
        {"fds_evicted", UNIT_COUNT,
         .meaning =
             "How often a file of /proc was closed to stay below the limit of open files. It is "
             "opened again when it is needed."},
    [METRIC_SAMPLER_CPU_NS] = {"sampler_cpu_ns", UNIT_NS,
                               .meaning = "The CPU time of the thread that samples."},
    [METRIC_SAMPLER_NICE] =
        {"sampler_nice", UNIT_COUNT,
         .meaning =
             "The nice of the thread that samples, at the end: what wallspy was given, else, for "
             "that thread alone, -20 or the best that is granted."},
    [METRIC_PRIORITY_GIVEN_UP] =
        {"priority_given_up", UNIT_COUNT,
         .meaning =
             "How often that thread had its usual nice again for a while, because it took more CPU "
             "time in a second than it may at the better one."},
    [METRIC_PROCESSES_APART] =
        {"processes_apart", UNIT_COUNT,
         .meaning =
             "Processes that the kernel schedules in another group than wallspy, beside which no "
             "nice of wallspy has an effect. `priority_apart` says which kind of group."},
    [METRIC_STACKS_LEFT_OUT] =
        {"stacks_left_out", UNIT_COUNT,
         .meaning = "Samples that `--gil` left out, because the thread did not hold the GIL."},
    [METRIC_RING_FULL] =
        {"ring_full", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "sample",
         .words = "lost because wallspy fell behind",
         .meaning =
             "Captures that were lost, because the memory between the sampler and the worker was "
             "full or the time at the end was over."},
    [METRIC_LONG_WRITES] =
        {"long_writes", UNIT_COUNT,
         .meaning = "Looks at threads that ran for a moment in the write of their last sample, as "
                    "the kernel's count of their writes shows: a stop would have cut it short."},
    [METRIC_NO_STOP_GIVEN_UP] =
        {"no_stop_given_up", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "sample",
         .words = "lost because the thread kept moving",
         .meaning =
             "Blocked threads that ran during each of three captures. They have no sample at that "
             "tick."},
    [METRIC_REFUSED] =
        {"refused", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "sample",
         .words = "refused by the kernel",
         .meaning = "Threads that the kernel no longer let wallspy read or stop: another debugger "
                    "has come, or the program has changed its user."},
    [METRIC_BACKED_OFF] =
        {"backed_off", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "sample",
         .words = "skipped so that an interrupted call can end",
         .meaning =
             "Threads in a call that an earlier stop had interrupted. They are not stopped again "
             "for a while, so that the call comes to its end."},
    [METRIC_EXECVE_WAITS] =
        {"execve_waits", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "sample",
         .words = "skipped while the program waited in execve",
         .meaning =
             "Threads that were not asked to stop, because an execve in the process was waiting "
             "for its other threads."},
    [METRIC_SYSCALL_READS_SKIPPED] =
        {"syscall_reads_skipped", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "sample",
         .words = "skipped because /proc/PID/syscall answers slowly",
         .meaning =
             "Samples that were left out because the kernel had been slow to say in which call the "
             "thread is."},
    [METRIC_MEMORY_LOCKED] =
        {"memory_locked", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "sample",
         .words = "skipped while the program's memory was locked (fork, mprotect)",
         .meaning =
             "Threads that were not asked to stop, because the kernel had locked the memory of the "
             "process. A stop would have lasted as long."},
    [METRIC_LEFT_ALONE] =
        {"left_alone", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "time",
         .words = "a process was left alone because its memory did not arrive",
         .meaning =
             "How often a read of memory in a hold lasted 0.25 s. The process is not sampled for "
             "ten seconds then, and for twice as long each time; that time is not seen."},
    [METRIC_LEFT_ALONE_NS] = {"left_alone_ns", UNIT_NS,
                              .meaning = "For how long that was, of all such processes."},
    [METRIC_SAMPLES_NOT_HELD] =
        {"samples_not_held", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "sample",
         .words = "of running threads without native frames",
         .meaning =
             "Samples of running threads that `--no-stop` did not hold. They have Python frames "
             "only."},
    [METRIC_THREADS_NOT_MET] =
        {"threads_never_sampled", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "thread",
         .words = "never sampled", .section = "Threads",
         .meaning =
             "Threads that ended, or that were there at the end of the recording, before it was "
             "their turn to be sampled."},
    [METRIC_DESCENDANTS] = {"descendants", UNIT_COUNT,
                            .meaning = "The processes that `--subprocesses` found and recorded: "
                                       "children, their children, and so on."},
    [METRIC_DESCENDANTS_REFUSED] =
        {"descendants_refused", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "descendant",
         .words = "not sampled",
         .meaning = "Descendants that may not be attached, or were too many. A warning "
                    "says why."},
    [METRIC_DESCENDANTS_TOO_SHORT] =
        {"descendants_too_short", UNIT_COUNT,
         .meaning =
             "Descendants that had ended when their turn to be sampled came. There may be more "
             "that were never seen: they live for less than 20 ms."},
    [METRIC_THREADS_WITHOUT_A_SAMPLE] =
        {"threads_without_a_sample", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "thread",
         .words = "or more that ended without a sample",
         .meaning =
             "Short-lived threads that a listing found and no tick. The profile leaves them "
             "out. The kernel does not count the births of threads: of those that live for "
             "less than an interval most are in no listing. Their CPU time is in `cpu_check`."},
    [METRIC_STUCK] =
        {"stuck", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "thread",
         .words = "released only by ending the recording early",
         .meaning =
             "Threads that could not be let go after a stop. wallspy ended the recording, so that "
             "the kernel let them go."},
    [METRIC_STACKS_MADE] =
        {"stacks_made", UNIT_COUNT, .section = "Native stacks",
         .meaning = "Samples whose stack was built. Repeated samples are not among them."},
    [METRIC_STACKS_NOT_COMPLETE] =
        {"stacks_not_complete", UNIT_COUNT, .part_of = METRIC_STACKS_MADE,
         .meaning =
             "Stacks that are cut, guessed in part or not fully merged, for any of the reasons "
             "below."},
    [METRIC_NATIVE_FRAMES] = {"native_frames", UNIT_COUNT,
                              .meaning = "Native frames of all stacks."},
    [METRIC_NATIVE_FRAMES_KEPT] = {"native_frames_kept", UNIT_COUNT,
                                   .part_of = METRIC_NATIVE_FRAMES,
                                   .meaning = "Native frames equal to those of the thread's last "
                                              "stack, which were not unwound again."},
    [METRIC_RULE_HITS] = {"rule_hits", UNIT_COUNT,
                          .meaning = "Frames whose unwind rule was known already."},
    [METRIC_RULE_MISSES] = {"rule_misses", UNIT_COUNT,
                            .meaning = "Frames whose unwind rule had to be looked up."},
    [METRIC_RULES_SHARED] =
        {"rules_shared", UNIT_COUNT,
         .meaning = "Look-ups among those that found the rule which another process had built for "
                    "the same file."},
    [METRIC_UNWIND_FALLBACKS] =
        {"unwind_fallbacks", UNIT_COUNT,
         .meaning = "How often a frame had no unwind rule, so that its caller had to be guessed."},
    [METRIC_UNWIND_GUESSED] =
        {"unwind_guessed", UNIT_COUNT,
         .meaning = "Frames that were found by scanning the stack or through a caller that was not "
                    "verified."},
    [METRIC_UNWIND_RECOVERED] =
        {"unwind_recovered", UNIT_COUNT,
         .meaning =
             "Frames for which a lost register was found by reading the code, and verified by the "
             "call."},
    [METRIC_UNWIND_RESUMED] =
        {"unwind_resumed", UNIT_COUNT,
         .meaning =
             "Stacks that went on from a frame of the Python interpreter, behind a part that could "
             "not be unwound."},
    [METRIC_UNWIND_OTHER_STACK] =
        {"unwind_other_stack", UNIT_COUNT,
         .meaning =
             "Stacks that end at a signal which came on another stack. That one was not copied."},
    [METRIC_UNWIND_DONE] = {"unwind_done", UNIT_COUNT, .part_of = METRIC_STACKS_MADE,
                            .meaning = "Stacks that reached the root of their thread."},
    [METRIC_UNWIND_STACK_CUT] =
        {"unwind_stack_cut", UNIT_COUNT, .effect = EFFECT_LOSS, .part_of = METRIC_STACKS_MADE,
         .noun = "stack", .words = "cut short",
         .meaning = "Stacks that need more bytes of the stack than the sample copied."},
    [METRIC_UNWIND_NEEDS_REGISTERS] =
        {"unwind_needs_registers", UNIT_COUNT, .effect = EFFECT_LOSS, .part_of = METRIC_STACKS_MADE,
         .noun = "stack", .words = "cut because their registers were not read",
         .meaning = "Stacks that need registers which a sample without a stop does not have."},
    [METRIC_UNWIND_NO_CFI] =
        {"unwind_no_cfi", UNIT_COUNT, .effect = EFFECT_LOSS, .part_of = METRIC_STACKS_MADE,
         .noun = "stack", .words = "cut where code has no unwind information",
         .meaning =
             "Stacks that end at code without unwind information, where no guess led to the root. "
             "Generated code and hand-written assembly are the usual cause."},
    [METRIC_UNWIND_BAD_MEMORY] =
        {"unwind_bad_memory", UNIT_COUNT, .effect = EFFECT_LOSS, .part_of = METRIC_STACKS_MADE,
         .noun = "stack", .words = "cut at unreadable memory",
         .meaning = "Stacks that end where a rule led to memory that could not be read."},
    [METRIC_UNWIND_NO_PROGRESS] =
        {"unwind_no_progress", UNIT_COUNT, .effect = EFFECT_LOSS, .part_of = METRIC_STACKS_MADE,
         .noun = "stack", .words = "cut where unwinding made no progress",
         .meaning =
             "Stacks that end where the next frame would have been no further out. The stack is "
             "damaged, or the unwind information is wrong."},
    [METRIC_UNWIND_TOO_DEEP] = {"unwind_too_deep", UNIT_COUNT, .effect = EFFECT_LOSS,
                                .part_of = METRIC_STACKS_MADE, .noun = "stack", .words = "too deep",
                                .meaning = "Stacks with more than 16384 frames."},
    [METRIC_FRAMES_GUESSED] =
        {"frames_guessed", UNIT_COUNT, .effect = EFFECT_DOUBT, .noun = "frame", .words = "guessed",
         .meaning = "Frames that are shown and may be wrong, because their caller was guessed."},
    [METRIC_STACK_ENDS_UNKNOWN] =
        {"stack_ends_unknown", UNIT_COUNT,
         .meaning =
             "Samples of which only one page of the stack was read, because the end of the stack "
             "was not known yet."},
    [METRIC_MERGE_NO_PYTHON] = {"merge_no_python", UNIT_COUNT, .part_of = METRIC_STACKS_MADE,
                                .section = "Python",
                                .meaning = "Stacks of threads without a Python frame."},
    [METRIC_MERGE_EXACT] =
        {"merge_exact", UNIT_COUNT, .part_of = METRIC_STACKS_MADE,
         .meaning = "Stacks in which each Python frame found its place among the native ones."},
    [METRIC_MERGE_ENTERING] =
        {"merge_entering", UNIT_COUNT, .part_of = METRIC_STACKS_MADE,
         .meaning = "The same, but for a Python call that was just beginning or ending."},
    [METRIC_MERGE_NATIVE_CUT] =
        {"merge_native_cut", UNIT_COUNT, .effect = EFFECT_LOSS, .part_of = METRIC_STACKS_MADE,
         .noun = "Python stack",
         .words = "without all native frames",
         .meaning = "Stacks whose native part ended early. All Python frames are there."},
    [METRIC_MERGE_MISMATCH] =
        {"merge_mismatch", UNIT_COUNT, .effect = EFFECT_DOUBT, .part_of = METRIC_STACKS_MADE,
         .noun = "Python stack", .words = "that do not fit the native stack",
         .meaning =
             "Stacks in which Python and native frames did not fit together. The certain part is "
             "kept, the rest is marked `[native frames not matched]`."},
    [METRIC_PYTHON_WALKS_CUT] =
        {"python_walks_cut", UNIT_COUNT, .effect = EFFECT_LOSS,
         .part_of = METRIC_STACKS_MADE, .noun = "Python stack", .words = "cut short",
         .meaning =
             "Stacks whose Python frames could not all be read, or are more than the bound."},
    [METRIC_PYTHON_READS_FAILED] =
        {"python_reads_failed", UNIT_COUNT, .effect = EFFECT_LOSS, .part_of = METRIC_STACKS_MADE,
         .noun = "Python stack", .words = "that could not be read whole",
         .meaning =
             "Samples in which the memory of the interpreter could not be read as a whole at the "
             "moment of the sample."},
    [METRIC_UNKNOWN_CODE_OBJECTS] =
        {"unknown_code_objects", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "Python frame",
         .words = "whose code was gone",
         .meaning =
             "Frames without a name, because their code object was freed or changed before it was "
             "read."},
    [METRIC_STACKS_BEFORE_PYTHON] =
        {"stacks_before_python", UNIT_COUNT,
         .meaning = "Stacks of Python threads that were sampled before wallspy had found their "
                    "interpreter. They are shown without Python frames."},
    [METRIC_STACKS_OF_OTHERS_STATES] =
        {"stacks_of_others_states", UNIT_COUNT,
         .meaning =
             "Stacks whose Python frames belong to the thread state of another thread: a program "
             "that moves states between threads."},
    [METRIC_UNREADABLE] = {"unreadable", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "file",
                           .words = "of /proc that could not be read",
                           .section = "Files of the target",
                           .meaning =
                               "Files of /proc that could not be read though the thread is there."},
    [METRIC_IMAGES_CUT] = {"images_cut", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "library file",
                           .words = "read from memory only in part",
                           .meaning = "Libraries without a file that are larger than the part that "
                                      "may be copied."},
    [METRIC_MAPPINGS_CUT] =
        {"mappings_cut", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "mapping", .words = "left out",
         .meaning =
             "Mappings of memory that are left out, because the process has more than the bound."},
    [METRIC_MODULES_BY_PATH] = {"modules_by_path", UNIT_COUNT,
                                .meaning =
                                    "Programs and libraries whose file was opened by its path."},
    [METRIC_MODULES_BY_EXE] = {"modules_by_exe", UNIT_COUNT,
                               .meaning = "Programs whose file was opened through /proc/PID/exe."},
    [METRIC_MODULES_BY_MAP_FILES] =
        {"modules_by_map_files", UNIT_COUNT,
         .meaning = "Programs and libraries whose file was opened through /proc/PID/map_files."},
    [METRIC_MODULES_FROM_MEMORY] =
        {"modules_from_memory", UNIT_COUNT,
         .meaning =
             "Libraries that were copied from the memory of the process, because their file is "
             "gone or was replaced."},
    [METRIC_MODULES_BY_JIT] = {"modules_by_jit", UNIT_COUNT,
                               .meaning = "Objects that a JIT compiler registered for debuggers."},
    [METRIC_MODULES_WITHOUT_FILE] =
        {"modules_without_file", UNIT_COUNT,
         .meaning =
             "Programs and libraries that could not be opened at all. Their frames have no names."},
    [METRIC_ELF_FILES] = {"elf_files", UNIT_COUNT,
                          .meaning = "Program and library files that were opened or copied, each "
                                     "counted once for all processes."},
    [METRIC_ELF_FILES_SHARED] =
        {"elf_files_shared", UNIT_COUNT,
         .meaning = "Times that one of these files served a further process, or a further place in "
                    "memory, and was not read again."},
    [METRIC_ELF_PAGES_REPLACED] =
        {"elf_pages_replaced", UNIT_COUNT,
         .meaning =
             "Pages of mapped files that read as zeros, because the file was cut short on the disk "
             "during the recording. Names there may be wrong."},
    [METRIC_FRAMES_NAMED_AHEAD] =
        {"frames_named_ahead", UNIT_COUNT,
         .meaning = "Frames that were named during the recording, not at its end."},
    [METRIC_FRAMES_UNNAMED] =
        {"frames_unnamed", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "frame",
         .words = "without a name because naming failed",
         .meaning =
             "Frames that have no name, because a debug file or a name made the process that "
             "reads them crash, or kept it for a minute. The line names the file, as "
             "`naming_failed` does."},
    [METRIC_JIT_FRAMES_UNQUEUED] =
        {"jit_frames_unqueued", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "frame",
         .words = "of code made at run time whose name was looked for only once",
         .meaning =
             "Frames of code made at run time that had no name when the code first ran, while "
             "65,536 others of the process waited for theirs. Names that the compiler wrote later "
             "are missing. Where it writes none at all nothing is counted."},
    [METRIC_SOCKETS_GIVEN_UP] =
        {"sockets_given_up", UNIT_COUNT, .effect = EFFECT_NOTE,
         .words = "%.0f sockets without their address (the system has too many)",
         .section = "The other side of waits",
         .meaning = "Sockets that threads waited for and whose other end was not found: the system "
                    "has so many that a reading of them ended before it reached these."},
    [METRIC_SEARCHES_GIVEN_UP] =
        {"searches_given_up", UNIT_COUNT, .effect = EFFECT_NOTE,
         .words = "%.0f searches for other ends given up (too many descriptors)",
         .meaning =
             "Searches among the descriptors of all processes for the other end of pipes and "
             "sockets that found more than 4,096. Nobody is named by them."},
    [METRIC_PEERS_NOT_SOUGHT] =
        {"peers_not_sought", UNIT_COUNT, .effect = EFFECT_NOTE,
         .words = "%.0f waits came too fast to look for their other ends",
         .meaning =
             "Waits in the kernel that began while 4,096 others were to be looked at. Whom they "
             "wait for is not known."},
    [METRIC_REPAIRED_CALLS] =
        {"repaired_calls", UNIT_COUNT, .section = "Calls of the target",
         .meaning =
             "Calls that a stop interrupted and that wallspy made the kernel restart. The program "
             "does not notice."},
    [METRIC_REPAIR_MAX_NS] =
        {"repair_max_ns", UNIT_NS,
         .meaning =
             "The longest time from the request to the stop of a repaired call. A time-out may "
             "have lasted that much longer."},
    [METRIC_RENEWED_CALLS] =
        {"renewed_calls", UNIT_COUNT,
         .meaning =
             "Calls that a stop made the kernel begin anew, with their full time-out, because a "
             "seccomp filter may forbid to resume them."},
    [METRIC_UNDONE_CALLS] =
        {"undone_calls", UNIT_COUNT,
         .meaning =
             "Calls of threads under a seccomp filter that a stop made begin anew. A supervisor "
             "may have been asked twice."},
    [METRIC_PERTURBED_CALLS] =
        {"perturbed_calls", UNIT_COUNT, .effect = EFFECT_DOUBT, .noun = "call",
         .words = "interrupted",
         .meaning =
             "Calls that returned EINTR to the program because of a stop, and that nobody may "
             "repeat."},
    [METRIC_CUT_CALLS] =
        {"cut_calls", UNIT_COUNT, .effect = EFFECT_DOUBT, .noun = "call",
         .words = "that may have been cut short",
         .meaning =
             "Calls that a stop may have ended with less done than the program asked for, such as "
             "a large write."},
    [METRIC_SIGNALS_IN_HOLDS] =
        {"signals_in_holds", UNIT_COUNT, .effect = EFFECT_DOUBT, .noun = "signal",
         .words = "that came while a thread was held",
         .meaning =
             "Signals to a process of several threads, such as SIGCHLD, that came while the thread "
             "that would take them was held. The kernel wakes another thread for them, a call of "
             "which may return EINTR. It is an estimate: a signal that was taken before the hold's "
             "end is not seen."},
    [METRIC_SIGNALS_AVOIDED] =
        {"signals_avoided", UNIT_COUNT,
         .meaning = "Samples of threads in whose holds signals came. They are not stopped for a "
                    "while: of these samples the Python frames are read."},
    [METRIC_SUPERVISED_CALLS] =
        {"supervised_calls", UNIT_COUNT, .effect = EFFECT_DOUBT, .noun = "call",
         .words = "that a seccomp supervisor was asked for twice",
         .meaning =
             "Calls that a stop made begin anew while a seccomp supervisor was answering them."},
    [METRIC_TIME_STEP_S] =
        {"time_step_s", UNIT_S, .effect = EFFECT_NOTE,
         .words = "order in time kept in steps of %t (--max-size)",
         .section = "Room in memory (`--max-size`)",
         .meaning = "The time lines became coarser to save room: within steps of this length the "
                    "order is lost, and no sum is. The last ten minutes keep it, as far as a "
                    "quarter of the room for time holds them, and so do windows of 8 s at even "
                    "distances, for which there is an eighth of that room "
                    "(`profile/exact_time.h`)."},
    [METRIC_THREADS_FOLDED] =
        {"threads_folded", UNIT_COUNT, .effect = EFFECT_NOTE,
         .words = "%.0f ended threads merged by name (--max-size)",
         .meaning = "Ended threads that became one per name to save room. Their sums are kept."},
    [METRIC_NAMES_REFUSED] = {"names_refused", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "name",
                              .words = "dropped (--max-size)",
                              .meaning = "Names that are shown as `[storage full]`."},
    [METRIC_FRAMES_REFUSED] = {"frames_refused", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "frame",
                               .words = "dropped (--max-size)",
                               .meaning = "Frames that are shown as `[storage full]`."},
    [METRIC_STACKS_REFUSED] = {"stacks_refused", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "stack",
                               .words = "cut (--max-size)",
                               .meaning = "New stacks that end in `[storage full]`."},
    [METRIC_WAITS_REFUSED] = {"waits_refused", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "wait",
                              .words = "for nobody known (--max-size)",
                              .meaning = "Waits of which it is not kept whom they were for."},
    [METRIC_RUNS_REFUSED] = {"runs_refused", UNIT_COUNT, .effect = EFFECT_LOSS, .noun = "interval",
                             .words = "dropped (--max-size)",
                             .meaning =
                                 "Stretches of a time line whose stack is `[storage full]` alone."},
    [METRIC_STACKS_SHORTENED] =
        {"stacks_shortened", UNIT_COUNT, .effect = EFFECT_NOTE,
         .words = "%.0f stacks shortened (too deep for the file)",
         .meaning = "Stacks that lack their middle in this file, because they are too deep for its "
                    "format."},
};

const struct metric_info *metric_info(enum metric m)
{
    assert(m > METRIC_NONE && m < METRIC_COUNT);
    return &infos[m];
}

void metric_add_words(struct text *out, enum metric m)
{
    const struct metric_info *info = metric_info(m);
    if (!info->words)
        return;
    if (info->noun)
        text_addf(out, "N %s%ss ", info->part_of ? "of M " : "", info->noun);
    /* A note's words are a format with one number in it. */
    const char *number = info->noun ? NULL : strchr(info->words, '%');
    if (number) {
        text_add_bytes(out, info->words, (size_t)(number - info->words));
        text_add(out, "N");
    }
    text_add(out, number ? number + strcspn(number, "ft") + 1 : info->words);
}

void metric_add_note(struct text *out, enum metric m, double n)
{
    const char *words = metric_info(m)->words;
    const char *span = strstr(words, "%t");
    if (!span) {
        text_addf(out, words, n);
        return;
    }
    text_add_bytes(out, words, (size_t)(span - words));
    text_add_span(out, n);
    text_add(out, span + strlen("%t"));
}

const char *metric_unit_text(enum metric_unit unit)
{
    static const char *const texts[] = {
        [UNIT_COUNT] = "", [UNIT_SHARE] = "%", [UNIT_HZ] = "Hz", [UNIT_NS] = "ns", [UNIT_S] = "s",
    };
    return texts[unit];
}

bool metric_may_be(enum metric m, double value)
{
    static const double most[] = {
        [UNIT_COUNT] = 1e18, [UNIT_SHARE] = 1e4, [UNIT_HZ] = 1e6, [UNIT_NS] = 1e18, [UNIT_S] = 1e9};
    return isfinite(value) && fabs(value) <= most[metric_info(m)->unit];
}
