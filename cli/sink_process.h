/* The process that writes a growing recording (docs/recording.md, "While it grows").  It gets
 * entries (recording/entry.h) through a pipe, knows the file and its schema, and nothing else.  It
 * lives as long as its pipe: a wallspy that is killed leaves a file that reaches until shortly
 * before.  It has a session of its own, because a terminal's keys are not for it.  The sampler's
 * thread, which takes the ends of all children, may take its end, too: nobody else asks for it. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum sink_answer_kind {
    SINK_OPENED, /* the file is there */
    SINK_FAILED, /* ERROR, as a negative errno, and WORDS; nothing follows.  NUMBER, if not 0: what
                     is in the file beside is good until then, in ns */
    SINK_DONE,   /* the file has its name; NUMBER: its bytes */
    SINK_KEPT,   /* FAILED, but the file is whole, and WORDS say where */
};
struct sink_answer { /* written at once: it is shorter than PIPE_BUF */
    enum sink_answer_kind kind;
    int error;
    int64_t number;
    char words[1024];
};

struct sink_pipes {
    int to;   /* entries; none waits: O_NONBLOCK */
    int from; /* answers; at their end the process has ended, or is about to */
};
/* Starts it, before this process has another thread.  Returns its pid, or a negative errno. */
pid_t sink_process_start(struct sink_pipes *ret);
