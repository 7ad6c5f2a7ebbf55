/* risk_07_extension.c - a Python extension that is linked against the library under test.
 *
 * It calls the allocator by name and through its own handle, so both the program's malloc and, when
 * the library came too late to be it, the library's are used.
 */
#include <Python.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static PyObject *churn(PyObject *self, PyObject *arg) {
    long n = PyLong_AsLong(arg), sum = 0;
    void *lib = dlopen(getenv("VT_SO"), RTLD_NOW | RTLD_NOLOAD);
    void *(*take)(size_t) = lib ? (void *(*)(size_t))dlsym(lib, "malloc") : NULL;
    void (*drop)(void *) = lib ? (void (*)(void *))dlsym(lib, "free") : NULL;
    (void)self;
    if (!take || !drop) return PyErr_Format(PyExc_RuntimeError, "the library is not loaded");
    for (long i = 0; i < n; i++) {
        size_t bytes = (size_t)(1 + i * 31 % 5000);
        char *p = malloc(bytes), *q = take(bytes);
        if (!p || !q) return PyErr_NoMemory();
        memset(p, 1, bytes);
        memset(q, 2, bytes);
        sum += p[bytes - 1] + q[bytes - 1];
        free(p);
        drop(q);
    }
    dlclose(lib);
    return PyLong_FromLong(sum);
}

static PyMethodDef methods[] = {{"churn", churn, METH_O, "allocate n times both ways"},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "vt_ext", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_vt_ext(void) { return PyModule_Create(&module); }
