#include "pyframes/py_version.h"

#include <string.h>

#include "base/text.h"
#include "profile/frame.h"
#include "tests/support/check_main.h"

START_TEST(hex)
{
    struct py_version v;
    ck_assert(py_version_from_hex(0x030b07f0, &v));
    ck_assert_str_eq(v.text, "3.11.7");
    ck_assert_uint_eq(v.minor, 11);
    ck_assert(py_version_from_hex(0x030f00a3, &v));
    ck_assert_str_eq(v.text, "3.15.0a3");
    ck_assert(py_version_from_hex(0x030f00b2, &v));
    ck_assert_str_eq(v.text, "3.15.0b2");
    ck_assert(py_version_from_hex(0x030e01c1, &v));
    ck_assert_str_eq(v.text, "3.14.1rc1");
    ck_assert(!py_version_from_hex(0, &v));
    ck_assert(!py_version_from_hex(0x020712f0, &v));
    ck_assert(!py_version_from_hex(0x030b0700, &v));
    ck_assert(!py_version_from_hex(UINT64_MAX, &v));
}
END_TEST

START_TEST(names)
{
    struct py_version v;
    ck_assert(py_version_from_name("libpython3.8.so.1.0", &v) && v.minor == 8);
    ck_assert(py_version_from_name("libpython3.7m.so.1.0", &v) && v.minor == 7);
    ck_assert(py_version_from_name("python3.14t", &v) && v.minor == 14);
    ck_assert_str_eq(v.text, "3.14");
    ck_assert(!py_version_from_name("python3", &v));
    ck_assert(!py_version_from_name("libpython3.so", &v));
    ck_assert(!py_version_from_name("python3.99999", &v));
    ck_assert(!py_version_from_name("bash", &v));
}
END_TEST

START_TEST(variables)
{
    static const char bytes[] = "3.40.1 (sqlite)\0"
                                "x3.8.1 (not at \0"
                                "3.8.18          "
                                "3.8.18 (default,"
                                "3.9.1+ (heads/x,"
                                "3.6.15 | package";
    struct py_version v;
    ck_assert(py_version_from_variables(bytes, sizeof bytes, 0, &v));
    ck_assert_str_eq(v.text, "3.8.18");
    ck_assert(py_version_from_variables(bytes, sizeof bytes, 9, &v));
    ck_assert_str_eq(v.text, "3.9.1+");
    ck_assert(py_version_from_variables(bytes, sizeof bytes, 6, &v));
    ck_assert_str_eq(v.text, "3.6.15"); /* conda-forge's */
    ck_assert(!py_version_from_variables(bytes, sizeof bytes, 7, &v));
    ck_assert(!py_version_from_variables("3.9.1 (", 7, 0, &v));
    ck_assert(!py_version_from_variables("3.9.11111111111111111111111", 16, 0, &v));
    ck_assert(!py_version_from_variables("", 0, 0, &v));
}
END_TEST

START_TEST(unsupported)
{
    ck_assert_str_eq(py_unsupported_name("libpython2.7.so.1.0"), "CPython 2");
    ck_assert_str_eq(py_unsupported_name("libpypy3.10-c.so"), "PyPy");
    ck_assert_str_eq(py_unsupported_name("/opt/graalpy/lib/libpythonvm.so"), "GraalPy");
    ck_assert_str_eq(py_unsupported_name("/opt/graalpy/bin/graalpy"), "GraalPy");
    ck_assert_str_eq(py_unsupported_name("/home/d7/lib/graalpy25.0/libposix.so"), "GraalPy");
    ck_assert_ptr_null(py_unsupported_name("/opt/lib/graalpy-tests/libposix.so"));
    ck_assert_str_eq(py_unsupported_name("python3.5"), "CPython 3.5");
    ck_assert_ptr_null(py_unsupported_name("python3.11"));
    ck_assert_ptr_null(py_unsupported_name("libc.so.6"));
}
END_TEST

START_TEST(modules_of_nothing_but_the_interpreter)
{
    ck_assert(py_is_interpreter_name("python3.11"));
    ck_assert(py_is_interpreter_name("libpython3.8.so.1.0"));
    ck_assert(!py_is_interpreter_name("blender"));
    struct py_runtime rt = {.module_start = 0x1000, .module_end = 0x2000};
    ck_assert_uint_eq(py_runtime_frame_flags(&rt, 0x1000), FRAME_IS_INTERPRETER);
    ck_assert_uint_eq(py_runtime_frame_flags(&rt, 0x2000), 0);
    rt.embedded = true;
    ck_assert_uint_eq(py_runtime_frame_flags(&rt, 0x1000), FRAME_IS_EMBEDDING);
    ck_assert(py_runtime_owns(&rt, 0x1000));
}
END_TEST

CHECK_MAIN("py_version", 20, hex, names, variables, unsupported,
           modules_of_nothing_but_the_interpreter)
