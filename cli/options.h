/* The command line.  One table of options (options_table.c) is parsed, checked and printed as help
 * from here; docs/ and README.md have no list of their own.  Pure: opens nothing, prints nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/units.h"
#include "summary/view.h"

enum command {
    COMMAND_RECORD,
    COMMAND_DUMP,
    COMMAND_STANDBY,
    COMMAND_DOCTOR,
    COMMAND_REPORT,
    COMMAND_EXPORT,
    COMMAND_CTL,
    COMMAND_PY_SPY, /* its line becomes one of record or dump, so it is only asked for help */
    COMMAND_INSTALL_PY_SPY,
    COMMAND_COUNT
};

enum { OPTIONS_LEAST_BYTES = 4 << 20 }; /* of --max-size */

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct word_list {
    const char **words;
    size_t n, capacity;
};

/* Texts are borrowed from argv, but those of THREADS, PROCESSES, INCLUDE, EXCLUDE and TRANSLATED,
 * which are owned. */
struct options {
    enum command command;
    pid_t *pids; /* as asked, each once: a process or a thread of one */
    size_t n_pids, pids_capacity;
    const char *process_name; /* -p NAME, which is no process id; NULL: none */
    char *const *argv;        /* the command to launch, NULL-terminated; NULL: attach to PIDS */
    struct word_list inputs;  /* report, export: files, directories, "-" */
    struct word_list outputs; /* -o, unexpanded; empty: the default name, or NO_OUTPUT */
    bool no_output;           /* -o none: the answer in the terminal alone */
    const char *format;       /* NULL: by each output's suffix */
    struct word_list threads; /* tids, globs of names, "main", "python", "native"; none: all */
    int rate_hz;
    bool rate_given;
    int64_t duration_ns; /* 0: until Ctrl-C or the target's exit */
    double max_overhead; /* share of its time that a thread may lose: 0.01 */
    uint64_t max_bytes;  /* of a recording in memory, and of each file */
    int64_t ring_ns;     /* the last part of the time is kept; 0: all */
    bool subprocesses;   /* children are recorded, and theirs, too */
    bool gil;            /* only samples of threads that hold the GIL */
    bool tasks;          /* show which asyncio task runs */
    bool no_stop;        /* never hold a thread */
    struct text known;   /* the rows of VIEW.known */
    struct view_options view;
    bool quiet, stats, strict, no_progress;
    int verbose; /* times -v was given */
    enum color_when color;
    const char *map; /* report: a file about the ranks; NULL: none */
    struct {
        bool threads, functions, waits, tree;
    } tables;                          /* report: these instead of the answer */
    struct word_list processes;        /* report: pids, globs of names; none: all */
    struct word_list include, exclude; /* report: globs on the frames of stacks */
    double least_share;                /* report: of a row in a table; 0: not given */
    int64_t least_ns;                  /* the same in seconds */
    struct moment from, to;            /* report, export: this part of a recording */
    bool json;                         /* dump, doctor, report, ctl */
    bool brief;                        /* report: a few lines */
    const char *why;                   /* report: the thread whose time is explained; NULL: none */
    bool freeze, full, locals;         /* dump */
    bool now;                          /* dump: without half a second of looks before */
    int64_t twice_ns;                  /* dump: how long it looks; 0: half a second */
    /* It is py-spy's command line, whose output and exit codes are wanted (docs/py-spy.md).  With
     * it: the line in wallspy's words, owned, NULL at the end; names of files are not cut. */
    bool as_py_spy, full_filenames;
    struct word_list translated;
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_HELP,    /* print options_help(RET->command) to stdout, exit 0 */
    OPTIONS_VERSION, /* print the version to stdout, exit 0 */
    OPTIONS_NAME,    /* -p got RET->process_name: list such processes to stderr, exit 2 */
    OPTIONS_USAGE,   /* nothing was asked: print options_usage() to stderr, exit 2 */
    OPTIONS_BAD,     /* ERR says what is wrong; exit 2 */
};

/* Reads ARGV, which must outlive RET.  RET is always filled as far as it went, and is released by
 * options_release() whatever the result.  With OPTIONS_RUN: record has either pids or an argv, dump
 * has pids, standby an argv, doctor one pid at most, report inputs, export one input,
 * install-py-spy an argv of one word, ctl any argv or none.  Called by the name py-spy (ARGV[0]),
 * or with that as its first word, it reads py-spy's command line. */
enum options_result options_parse(struct options *ret, int argc, char *const *argv,
                                  struct err *err);
void options_release(struct options *o);

/* The eight lines of `wallspy` alone. */
void options_usage(struct text *out);
/* The whole help of a command, lines of at most 79 columns. */
void options_help(enum command command, struct text *out);
