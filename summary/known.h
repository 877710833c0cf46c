/* What wallspy knows of others' code: the rows of known.def, and those of users (docs/known.md).  A
 * row says what a function is.  The view looks each frame up once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum known_kind {
    KNOWN_POOL,    /* the threads of a pool wait there for work */
    KNOWN_JOINED,  /* likewise, and whoever gives the work waits there, too, for its end */
    KNOWN_WORKERS, /* all threads of this library are a pool's: with it, a stripped one is known */
    KNOWN_RESULTS, /* whoever gave a pool work waits there for what comes of it */
    KNOWN_TAKES,   /* takes a pool's work out of another process's queue */
    KNOWN_PUTS,    /* a pool's loop that writes to a queue: its wait for that is none for work */
    KNOWN_LOOP,    /* an event loop's */
    KNOWN_POLLER,  /* what such a loop polls by, whichever it is */
    KNOWN_ANSWER,  /* runs a loop of its own until the one answer is there that it waits for */
    KNOWN_SPIN,    /* waits by asking again and again */
    KNOWN_YIELDS,  /* its sched_yield() is such a wait, if it is stripped */
    KNOWN_WITHIN,  /* the library's own code in such a wait */
    KNOWN_FUTEX,   /* makes a lock of a futex */
    KNOWN_SLEEPS,  /* sleeps in a loop until something is so */
    KNOWN_ASKS,    /* asks whether something is so, and does not wait for it */
    KNOWN_OWN,     /* the user's own code, wherever it lies */
    KNOWN_LIBRARY, /* a library's */
    KNOWN_GLUE,    /* leads to a wait, or to the user's first function */
    KNOWN_DATA,    /* passes data to another process: pickles, sends, receives, unpickles */
    KNOWN_WAITS,   /* glue in a wait, and a library's where it runs */
    KNOWN_SAYS,    /* a wait in it means something that its name does not say */
    KNOWN_CALLED,  /* what programs call has another name */
    KNOWN_SLOW,    /* is slow, and something else is faster */
    KNOWN_ALLOCATOR, /* allocates memory, or gives it back */
    KNOWN_DOES,      /* does something of enum known_act */
    KNOWN_KINDS,
};
/* What rules ask of a function: bits. */
enum known_act {
    DOES_BEGIN,         /* begins a program or a thread, before any function of its own */
    DOES_END_PYTHON,    /* ends the interpreter */
    DOES_START_THREAD,  /* starts one; Python's start() waits until it has begun */
    DOES_JOIN_THREAD,   /* waits until one has ended */
    DOES_FORK,          /* copies the process */
    DOES_BEGIN_PROCESS, /* begins what a forked process does of its own */
    DOES_RUN_PROGRAM,   /* starts another program, and reads what it says */
    DOES_BLOCK,         /* is there to wait, as a lock; other functions of libc have locks inside */
    DOES_WAKE_ALL,      /* wakes all that wait for a condition */
    DOES_MAKE_ONCE,     /* one thread makes something there, and the others wait for that */
    DOES_ASK_AGAIN,     /* what a wait calls again and again */
    DOES_SLEEP,         /* sleeps because its caller asks for that */
    DOES_RETRY_LOCK,    /* sleeps only to try again for a lock that another connection has */
    DOES_RETRY_CALL,    /* sleeps only to call again what failed, or gave no result */
    DOES_COPY_MESSAGE,  /* what MPI and UCX do for a message while nobody waits */
    DOES_IMPORT,        /* every import in Python has such a frame */
    DOES_LOAD,          /* likewise, and what finds, reads and compiles modules for others */
    DOES_RUN_TASKS,     /* of a pool of threads: an executor's */
    DOES_RUN_COROUTINES, /* asyncio's */
    DOES_CALL_BACK,      /* an event loop that calls functions which must not block */
    DOES_POOL_PROCESSES, /* concurrent.futures' pool of processes */
    DOES_RUN_REGION,     /* the part of a function that OpenMP's threads share */
    DOES_RESOLVE,        /* asks for a host's address */
    DOES_CONNECT,        /* connects to a host, and does nothing else with it */
    DOES_LOSE_TASKS,     /* waits for a pool that forgets the task of a worker that was killed */
    DOES_SERVE,          /* of a library that serves clients, and may be a client, too */
    DOES_BEGIN_REQUEST,  /* begins what is done for a client */
    DOES_RUN_OTHERS,     /* a program that runs others' code: what a script of bin/ starts */
    DOES_RUN_CELL,       /* runs what the user typed, in a loop that has nothing else to do */
    DOES_COMMIT,         /* ends a transaction of a database that lies in files */
    DOES_DRAIN,          /* of a task: waits for a peer to read what was sent */
    DOES_SEND_TASKS,     /* pickles those of a pool */
    DOES_BE_INLINED,     /* is so small that a compiler inlines it, if it optimises */
    DOES_KINDS,
};
enum { KNOWN_MOST_SLOW = 256, KNOWN_MOST_SLOW_ADDED = 16 }; /* rows of slow code; the user's */
enum known_match {
    MATCH_NAME,   /* as in frame_name_has(), of libc without its prefixes */
    MATCH_ANY,    /* "*" */
    MATCH_BEGINS, /* "^std::": the whole name begins so */
    MATCH_WHOLE,  /* "^clone$": the whole name */
    MATCH_HAS,    /* "*FnOnce*": it has that anywhere */
};
enum known_place {
    IN_NATIVE, /* "-": any native code */
    IN_LIBC,   /* "libc": a function of the C library */
    IN_JIT,    /* "jit": native code that was made while the program ran */
    IN_MODULE, /* the beginning of the module's name, or the end of the path of native source */
    IN_PYTHON, /* "acme/run.py": the end of a Python file's path */
    IN_NAMED,  /* "<string>": the beginning of a name that stands for such a path */
    IN_FOLDER, /* "acme/": a folder above the Python file, the native source or the module */
};
struct known_row {
    const char *function;
    enum known_match match;
    enum known_place place;
    const char *in; /* the word that says it */
    unsigned is;    /* 1 << enum known_kind */
    /* The names of a pool's threads, of those of a library of workers, of the loop, of threads in
     * nothing but such glue; NULL: none. */
    const char *pool, *workers, *loop, *glue;
    int spin, yields, futex, sleeps, asks; /* enum spin_kind, twice; futex_kind; asked, twice */
    uint64_t within, does;                 /* 1 << enum spin_kind; 1 << enum known_act */
    /* Of slow code: what comes before its share of the time, what behind it (also an allocator's),
     * the end of a file that says that it is for something else, from which share on it is told. */
    const char *slow, *remedy, *unless;
    double least_share;
    const char *allocator, *says, *called; /* its name; a sentence; as programs call it */
    bool tested;   /* a fixture of the real library has it (tests/situations/judge_fixtures) */
    bool built_in; /* and not the user's */
    unsigned line; /* in its text, from 1 on */
};
struct known_table {
    struct known_row *rows; /* the user's first: of several the first one counts */
    size_t n, capacity;
    struct known_key *keys; /* of each row, known.c's */
    char **texts;           /* what the rows' texts lie in */
    size_t n_texts, texts_capacity;
};
struct known_marks {
    const struct known_row *row[KNOWN_KINDS]; /* the first of each kind that a frame is of; NULL */
    uint64_t within, does;                    /* of all rows that it is of */
    uint64_t module_within;                   /* of those that are of its whole module */
};
struct shown_frame;
const char *known_text(void); /* known.def: the rows built in */
/* The rows of TEXT, a user's file (NULL: none), and those built in.  Returns 0; or -EINVAL with the
 * line and its fault, and then T has only those built in.  T is to be released either way. */
int known_init(struct known_table *t, const char *text, struct err *err);
/* Adds the rows of TEXT behind the built-in ones, as such, before a frame is looked up. */
void known_add(struct known_table *t, const char *text);
void known_release(struct known_table *t);
/* T has all its rows: makes their keys. */
void known_make_keys(struct known_table *t);
bool known_is_of(const struct known_row *row, const struct shown_frame *f); /* is F of ROW? */
/* The rows of T that F is of.  Returns whether there are any. */
bool known_find(const struct known_table *t, const struct shown_frame *f, struct known_marks *ret);
/* F's row of KIND, as the view found it; NULL: none. */
const struct known_row *known_row_of(const struct shown_frame *f, enum known_kind kind);
/* Does F do ACT, as far as the table says? */
bool known_does(const struct shown_frame *f, enum known_act act);
/* Whose F is: KNOWN_OWN, KNOWN_LIBRARY, KNOWN_GLUE or KNOWN_WAITS, by the first row that says one
 * of them; KNOWN_KINDS: none does. */
enum known_kind known_owner_of(const struct shown_frame *f);
/* The name of threads of F's pool that have none of their own ("omp worker"); NULL: no pool's. */
const char *known_pool_of(const struct shown_frame *f);
/* The name of threads in nothing but glue as F is; NULL: that is not known. */
const char *known_glue_of(const struct shown_frame *f);
/* The same as known_pool_of() for F's module alone, all of whose threads are a pool's. */
const char *known_workers_of(const struct shown_frame *f);
