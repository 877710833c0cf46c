#include "pyframes/py_internal.h"

#include "tests/support/check_main.h"

START_TEST(internal_functions_are_told_from_others)
{
    static const char *const internal[] = {
        "_PyEval_EvalFrameDefault",
        "_PyEval_Vector",
        "PyObject_Call",
        "Py_RunMain",
        "run_mod",
        "cfunction_vectorcall_FASTCALL_KEYWORDS",
        "method_vectorcall_NOARGS",
        "type_call",
        "slot_tp_call",
        "gen_send_ex2.lto_priv.0",
        "_PyObject_MakeTpCall.constprop.0",
        "_PyEval_EvalFrameDefault.cold",
        "thread_run",
        "pythread_wrapper",
        "t_bootstrap",
        "builtin_exec",
        "PyErr_CheckSignals",
        "wrapperdescr_raw_call",
        "_TAIL_CALL_CALL_KW.llvm.7",
        "_Py_VectorCall_StackRefSteal",
        "maybe_call_special_one_arg",
    };
    static const char *const work[] = {
        "",
        "builtin_sorted",
        "time_sleep",
        "take_gil",
        "gc_collect_main",
        "list_sort_impl",
        "acquire_timed",
        "lock_PyThread_acquire_lock",
        "scanner_call",
        "start_thread",
        "clone",
        "main",
        "type_new",
        "dict_subscript",
        "PyThread_acquire_lock_timed",
        "method",
        "_pthread_cond_wait",
        "run",
        "sock_recv",
    };
    for (size_t i = 0; i < sizeof internal / sizeof *internal; i++)
        ck_assert_msg(py_is_internal(internal[i]), "%s", internal[i]);
    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
        ck_assert_msg(!py_is_internal(work[i]), "%s", work[i]);
}
END_TEST

START_TEST(an_embedding_program_has_functions_of_such_names)
{
    static const char source[] = "/tmp/Python-3.11.7/Objects/call.c";
    ck_assert(py_is_embedded_internal("_PyEval_Vector", ""));
    ck_assert(py_is_embedded_internal("cfunction_call", ""));
    ck_assert(py_is_embedded_internal("_PyEval_Vector", source));
    ck_assert(py_is_embedded_internal("_PyObject_CallNoArgs", "/usr/include/python3.8/abstract.h"));
    ck_assert(!py_is_embedded_internal("PyEval_Mine", "/src/app.c"));
    ck_assert(!py_is_embedded_internal("list_sort_impl", source));
    static const char *const either[] = {"call_method", "run_file", "wrap_callback", "vectorcall_x",
                                         "function_call.constprop.0"};
    for (size_t i = 0; i < sizeof either / sizeof *either; i++) {
        ck_assert_msg(py_is_internal(either[i]), "%s", either[i]);
        ck_assert_msg(!py_is_embedded_internal(either[i], ""), "%s", either[i]);
        ck_assert_msg(!py_is_embedded_internal(either[i], "/src/Objects/call.c"), "%s", either[i]);
        ck_assert_msg(!py_is_embedded_internal(either[i], "/python/app/call.c"), "%s", either[i]);
        ck_assert_msg(!py_is_embedded_internal(either[i], "call.c"), "%s", either[i]);
        ck_assert_msg(py_is_embedded_internal(either[i], source), "%s", either[i]);
    }
}
END_TEST

CHECK_MAIN("py_internal", 5, internal_functions_are_told_from_others,
           an_embedding_program_has_functions_of_such_names)
