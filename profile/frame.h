/* A frame, and the functions and lines that the symbolizer finds for it.  Values: the profile
 * interns them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/ids.h"

enum frame_kind { FRAME_NATIVE = 1, FRAME_PYTHON, FRAME_MARK };
enum frame_flags {
    FRAME_IS_GUESSED = 1 << 0,     /* no unwind information: shown as guessed */
    FRAME_IS_INTERPRETER = 1 << 1, /* native code of the Python interpreter itself */
    FRAME_IS_JIT = 1 << 2, /* compiled while Python ran: maybe the interpreter's, by its name */
    /* Of a program that the interpreter is linked into: maybe the interpreter's, by its name. */
    FRAME_IS_EMBEDDING = 1 << 3,
};

struct frame {
    enum frame_kind kind;
    uint32_t flags;
    union {
        struct {
            module_id module;  /* none: code outside any file; offset is then the address */
            uint64_t offset;   /* ELF address, look-up adjusted (return addresses minus one) */
            uint64_t function; /* where its function starts by its unwind information; 0: unknown */
            string_id
                name; /* its name by a JIT compiler, whose addresses are used again; or none */
        } native;
        struct {
            func_id func;
            uint32_t line; /* 0: none */
        } python;
        struct {
            string_id name, file; /* "[truncated]", "[gc]"; file mostly none */
        } mark;
    };
};

struct func { /* a Python function */
    string_id name, file;
    uint32_t first_line;
};

struct profile_module {
    string_id name, path, build_id; /* build id in hex; none: unknown */
    uint64_t bias;                  /* address = offset + bias when it was mapped */
    uint64_t file;                  /* distinguishes files without a build id; 0: unknown */
};

/* The function, file and line of a native frame, as the symbolizer found them. */
struct location {
    string_id function; /* demangled, without parameters */
    string_id file;     /* source path; none: unknown */
    uint32_t line, function_line;
    bool inlined;  /* into the next location of the frame */
    bool internal; /* the interpreter's own by its name, hidden unless --internals */
};
