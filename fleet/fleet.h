/* All that the dumps of a job say: processes, their threads, and what each was in.  Filled by the
 * readers (dump_in.h, pyspy_in.h), judged by classes.h and verdict.h.  Knows of no file and of no
 * live process. */
#pragma once

#include "fleet/frame_memo.h"
#include "fleet/function_table.h"

enum { FLEET_NONE = UINT32_MAX };

/* What a thread does, from what stops a job to what merely follows from that. */
enum fleet_doing {
    DOES_NOTHING, /* stopped */
    DOES_RUN,     /* it runs, or waits for a CPU */
    DOES_WAIT,    /* for a file, a lock, a child, the time */
    DOES_AWAIT,   /* for another process or thread: sockets, pipes, conditions */
    DOES_UNKNOWN,
};
struct fleet_wait {
    uint32_t words; /* "in read of /data/x"; a text */
    uint32_t sort;  /* the same without its object */
    enum fleet_doing doing;
};

/* A stack as the way to its innermost frame; 0 is the empty one. */
struct fleet_node {
    uint32_t parent, function, line; /* LINE: of the first thread that was seen here */
    uint16_t depth;
};

enum fleet_ran { RAN_UNKNOWN, RAN_NOT, RAN_SOME, RAN_SPUN };
struct fleet_thread {
    uint32_t path;  /* a node */
    uint32_t lines; /* a hash of the lines of the user's own frames */
    uint32_t wait, name;
    int64_t tid;
    int64_t other_pid, other_tid; /* for whom it waits; 0: not said */
    uint32_t remote;              /* of the connection that it waits for: a text, or FLEET_NONE */
    uint32_t link; /* what else leads to other processes: of the fleet's; FLEET_NONE */
    enum fleet_ran ran;
    bool complete;
    bool task; /* of asyncio: no thread */
};

/* A wait that others can end, though none is named. */
struct fleet_link {
    uint32_t file, offset; /* of the word in shared memory: texts; FLEET_NONE: it is no such wait */
    uint32_t first_remote, n_remotes; /* of the fleet's: of the connections that are polled */
    int64_t owner; /* of the lock there, in the pid namespace of who has it; 0: not said */
    bool polls, more, listens; /* MORE: than these connections */
};

/* A process in one dump. */
struct fleet_process {
    int64_t rank, world, local_rank; /* −1: not said */
    int64_t pid;
    uint32_t host, machine, command, time;    /* texts; "" if not said */
    int64_t net_ns;                           /* its network namespace; 0: not said */
    uint32_t input;                           /* which one */
    uint32_t document;                        /* of the whole fleet */
    uint32_t first_thread, n_threads;         /* the main thread is the first */
    uint32_t first_dimension, n_dimensions;   /* of the fleet's */
    uint32_t first_connection, n_connections; /* of the fleet's */
    uint32_t first_shared, n_shared;          /* of the fleet's */
    uint32_t first_link, first_remote;        /* of the fleet's: those of its threads */
    uint32_t first_line;                      /* of the main thread: fleet.lines, outermost first */
    bool inherits;                            /* its rank is another process's */
    bool cut;                                 /* the input ended within it */
};

/* A TCP connection of a process: texts such as "10.0.0.2:5433". */
struct fleet_connection {
    uint32_t local, remote;
};

/* What a user's file says of some processes: texts such as "tp" and "4". */
struct fleet_dimension {
    uint32_t name, value;
};

/* What became of an input. */
struct fleet_input {
    char *name;
    uint32_t documents, processes;
    const char *wrong; /* NULL, or why it was not read to its end; a constant */
    uint64_t wrong_at; /* the number of the document, from 1 */
};

struct fleet { /* zero-initialise */
    struct function_table functions;
    struct fleet_node *nodes;
    size_t n_nodes, nodes_capacity;
    struct map children; /* parent and function → node */
    struct map stacks;   /* hash of the functions → node */
    struct fleet_wait *waits;
    size_t n_waits, waits_capacity;
    struct map waits_by_text;
    struct fleet_thread *threads;
    size_t n_threads, threads_capacity;
    struct fleet_process *processes;
    size_t n_processes, processes_capacity;
    struct fleet_connection *connections;
    size_t n_connections, connections_capacity;
    struct fleet_link *links;
    size_t n_links, links_capacity;
    uint32_t *shared, *remotes; /* texts: files by which processes share memory; ends */
    size_t n_shared, shared_capacity, n_remotes, remotes_capacity;
    struct fleet_dimension *dimensions;
    size_t n_dimensions, dimensions_capacity;
    uint32_t *lines;
    size_t n_lines, lines_capacity;
    struct fleet_input *inputs;
    size_t n_inputs, inputs_capacity;
    uint32_t n_documents;
    struct frame_memo memo;
    bool full; /* a bound was met: what came later is not in it */
};

uint32_t fleet_text(struct fleet *f, const char *s);
const char *fleet_see_text(const struct fleet *f, uint32_t id);
/* The id of a wait; WORDS and SORT are copied. */
uint32_t fleet_wait(struct fleet *f, const char *words, const char *sort, enum fleet_doing doing);

/* The frames of one thread, while they are read: innermost first. */
enum { FLEET_FRAMES = 1024 };
struct fleet_stack {
    uint32_t functions[FLEET_FRAMES], lines[FLEET_FRAMES];
    size_t n;
};
/* Appends FRAME; returns what it came to. */
struct memo_frame fleet_stack_add(struct fleet *f, struct fleet_stack *s,
                                  const struct frame_in *frame);
void fleet_stack_push(struct fleet_stack *s, const struct memo_frame *frame);
/* Puts STACK into the tree, and its hash of lines into T. */
void fleet_stack_end(struct fleet *f, const struct fleet_stack *s, struct fleet_thread *t);
/* Adds a process, and then its threads.  MAIN_LINES: the stack of the first thread. */
struct fleet_process *fleet_add_process(struct fleet *f, const struct fleet_process *p);
void fleet_add_thread(struct fleet *f, const struct fleet_thread *t, const struct fleet_stack *s);
/* Adds one of the last process. */
void fleet_add_connection(struct fleet *f, const char *local, const char *remote);
void fleet_add_shared(struct fleet *f, uint32_t file);
/* Adds one to what is polled; the last ones are those of the link that is added next. */
void fleet_add_remote(struct fleet *f, const char *remote);
/* Returns the link's number; FLEET_NONE: there is no room. */
uint32_t fleet_add_link(struct fleet *f, const struct fleet_link *link);
/* Sets what P says of the last process, but for its threads. */
void fleet_describe_process(struct fleet *f, const struct fleet_process *p);
/* Takes the last process and its threads away. */
void fleet_drop_process(struct fleet *f);
void fleet_release(struct fleet *f);
