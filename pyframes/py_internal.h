/* CPython's internal functions, by name: those that only pass calls on between Python frames, or
 * lead from a thread's root to the first of them.  Pure. */
#pragma once

#include <stdbool.h>

/* Does FUNCTION (a C name from the interpreter's module) only pass calls on between Python frames?
 * Such functions (_PyEval_Vector, PyObject_Call, cfunction_vectorcall_NOARGS) are hidden unless
 * --internals. */
bool py_is_internal(const char *function);
/* The same in a program that CPython is linked into, and that may have functions of such names
 * itself: call_method, run_file.  FILE: FUNCTION's source; "": unknown. */
bool py_is_embedded_internal(const char *function, const char *file);
/* The same of code that was compiled while Python ran: CPython's perf trampolines ("py::f:/a.py")
 * and its JIT's code (PY_JIT_NAME), which stand beside the Python frames that they run for. */
#define PY_JIT_NAME "py::jit:executor"
bool py_is_jit_internal(const char *function);
