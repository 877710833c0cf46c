/* An extension for scene_target.py.  call(f) leads to f through three C functions of its own;
 * in_sub(code, f) runs CODE in a new interpreter on this very C stack, from which back() calls f in
 * the interpreter that it came from. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define KEPT __attribute__((noinline, noclone))

static PyThreadState *home;
static PyObject *at_home;

/* The empty asm keeps the call from becoming a jump. */
KEPT static PyObject *ext_inner(PyObject *f)
{
    PyObject *r = PyObject_CallObject(f, NULL);
    __asm__ volatile("");
    return r;
}

KEPT static PyObject *ext_middle(PyObject *f)
{
    PyObject *r = ext_inner(f);
    __asm__ volatile("");
    return r;
}

KEPT static PyObject *ext_call(PyObject *self, PyObject *f)
{
    (void)self;
    PyObject *r = ext_middle(f);
    __asm__ volatile("");
    return r;
}

KEPT static PyObject *ext_in_sub(PyObject *self, PyObject *args)
{
    const char *code;
    (void)self;
    if (!PyArg_ParseTuple(args, "sO", &code, &at_home))
        return NULL;
    home = PyThreadState_Get();
    PyThreadState *sub = Py_NewInterpreter();
    int r = sub ? PyRun_SimpleString(code) : -1;
    if (sub)
        Py_EndInterpreter(sub);
    PyThreadState_Swap(home);
    return PyLong_FromLong(r);
}

KEPT static PyObject *ext_back(PyObject *self, PyObject *ignored)
{
    (void)self;
    (void)ignored;
    PyThreadState *sub = PyThreadState_Swap(home);
    PyObject *r = PyObject_CallObject(at_home, NULL);
    Py_XDECREF(r);
    PyThreadState_Swap(sub);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"call", ext_call, METH_O, NULL},
    {"in_sub", ext_in_sub, METH_VARARGS, NULL},
    {"back", ext_back, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "scene_ext", .m_size = -1,
                             .m_methods = methods};

PyMODINIT_FUNC PyInit_scene_ext(void)
{
    return PyModule_Create(&module);
}
