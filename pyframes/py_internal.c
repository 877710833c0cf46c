/* A function that works itself (builtin_sorted, time_sleep, take_gil, gc_collect_main) is none, nor
 * is lru_cache's wrapper: it calls its function at a miss alone.
 * Source: Objects/call.c, methodobject.c, descrobject.c, classobject.c, typeobject.c, genobject.c,
 * Python/ceval.c, pythonrun.c, import.c, Modules/main.c, _threadmodule.c of all CPython versions,
 * and the stacks of running programs. */
#include "pyframes/py_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const prefixes[] = {
    "PyCFunction_Call",
    "PyEval_",
    "PyFunction_",
    "PyObject_Call",
    "PyObject_Vectorcall",
    "PyRun_",
    "PyVectorcall_",
    "TAIL_CALL_", /* of the tail-calling interpreter: one function for each instruction */
    "_PyCFunction_",
    "_PyCallMethodDescriptor",
    "_PyEval",
    "_PyFunction_",
    "_PyGen_",
    "_PyMethodDef_RawFastCall",
    "_PyMethodDescr_",
    "_PyObject_Call",
    "_PyObject_FastCall",
    "_PyObject_MaybeCallSpecial",
    "_PyObject_Vectorcall",
    "_PyRun_",
    "_PyVectorcall_",
    "_Py_BuiltinCall",
    "_Py_CallBuiltinClass",
    "_Py_VectorCall",
    "_TAIL_CALL_",
    "cfunction_vectorcall_",
    "lookup_maybe_method",
    "maybe_call_special_",
    "method_vectorcall",
    "pymain_",
    "pyrun_",
    "slot_am_",
    "slot_bf_",
    "slot_mp_",
    "slot_nb_",
    "slot_sq_",
    "slot_tp_",
    "vectorcall_",
    "wrap_", /* wrap_init, wrap_binaryfunc …: a slot called as a method */
};

/* Sorted, for bsearch. */
static const char *const functions[] = {
    "PyErr_CheckSignals",
    "PyGen_am_send",
    "PyImport_Import",
    "PyImport_ImportModule",
    "PyImport_ImportModuleLevel",
    "PyImport_ImportModuleLevelObject",
    "PyIter_Next",
    "PyIter_Send",
    "Py_BytesMain",
    "Py_Main",
    "Py_MakePendingCalls",
    "Py_RunMain",
    "_PyErr_CheckSignals",
    "_PyErr_CheckSignalsTstate",
    "_PyObject_MakeTpCall",
    "_Py_HandlePending",
    "_Py_UnixMain",
    "builtin___build_class__",
    "builtin___import__",
    "builtin_eval",
    "builtin_eval_impl",
    "builtin_exec",
    "builtin_exec_impl",
    "call_attribute",
    "call_function",
    "call_method",
    "call_trampoline",
    "call_unbound",
    "call_unbound_noarg",
    "callmethod",
    "cfunction_call",
    "cfunction_call_varargs",
    "cfunction_fastcall_keywords",
    "classmethoddescr_call",
    "context_run",
    "do_call_core",
    "eval_frame_handle_pending",
    "fast_function",
    "function_call",
    "function_code_fastcall",
    "gen_iternext",
    "gen_send",
    "gen_send_ex",
    "gen_send_ex2",
    "handle_eval_breaker",
    "handle_signals",
    "import_find_and_load",
    "import_name",
    "instancemethod_call",
    "lru_cache_call",
    "make_pending_calls",
    "method_call",
    "methoddescr_call",
    "object_vacall",
    "partial_call",
    "partial_call_impl",
    "partial_fastcall",
    "partial_vectorcall",
    "partial_vectorcall_fallback",
    "property_descr_get",
    "py_trampoline_evaluator",
    "pythread_wrapper",
    "run_eval_code_obj",
    "run_file",
    "run_mod",
    "run_pyc_file",
    "t_bootstrap",
    "thread_run",
    "type_call",
    "type_vectorcall",
    "wrapper_call",
    "wrapperdescr_call",
    "wrapperdescr_raw_call",
};

/* Of all these the ones that a program may well have functions of its own by; sorted, too. */
static const char *const common_prefixes[] = {"vectorcall_", "wrap_", NULL};
static const char *const common[] = {
    "call_attribute",  "call_function", "call_method",
    "call_trampoline", "call_unbound",  "call_unbound_noarg",
    "callmethod",      "context_run",   "do_call_core",
    "fast_function",   "function_call", "gen_send",
    "handle_signals",  "import_name",   "make_pending_calls",
    "method_call",     "partial_call",  "run_file",
    "run_mod",         "thread_run",    "type_call",
    "wrapper_call",
};

enum { FUNCTION_MAX_BYTES = 64 };

static int compare(const void *name, const void *entry)
{
    return strcmp(name, *(const char *const *)entry);
}

/* Is FUNCTION one of the N names of LIST?  Compilers add .constprop.0, .isra.0, .cold, .lto_priv.0
 * and the like. */
static bool is_in(const char *function, const char *const *list, size_t n)
{
    char name[FUNCTION_MAX_BYTES];
    size_t len = strcspn(function, ".");
    if (len >= sizeof name)
        return false;
    memcpy(name, function, len);
    name[len] = '\0';
    return bsearch(name, list, n, sizeof *list, compare) != NULL;
}

bool py_is_internal(const char *function)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (str_starts(function, prefixes[i]))
            return true;
    return is_in(function, functions, sizeof functions / sizeof *functions);
}

static bool is_common(const char *function)
{
    return str_starts_any(function, common_prefixes) ||
           is_in(function, common, sizeof common / sizeof *common);
}

/* "/tmp/Python-3.11.7/Objects/call.c" */
static bool is_cpython_source(const char *file)
{
    static const char *const folders[] = {"/Objects/", "/Python/", "/Modules/"};
    size_t folder = (size_t)(path_base(file) - file);
    bool is = false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t len = strlen(folders[i]);
        is |= folder >= len && memcmp(file + folder - len, folders[i], len) == 0;
    }
    return is && strstr(file, "ython") && str_ends(file, ".c");
}

bool py_is_embedded_internal(const char *function, const char *file)
{
    if (!py_is_internal(function))
        return false;
    if (*file && !str_ends(file, ".h")) /* what a header has is everybody's */
        return is_cpython_source(file);
    return !is_common(function);
}

bool py_is_jit_internal(const char *function)
{
    return str_starts(function, "py::");
}
