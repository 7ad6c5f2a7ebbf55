/* risk_07_tls_hog.c - takes most of the room that glibc keeps for thread-local variables of late
 * libraries.
 *
 * 1,664 bytes is all there is on glibc 2.36; with HOG_BYTES=1500 a few hundred are left. Initial-
 * exec is what makes it count: such a variable cannot be placed elsewhere. With HOG_MODULE it is a
 * Python extension.
 */
#ifdef HOG_MODULE
#include <Python.h>
#endif

#ifndef HOG_BYTES
#define HOG_BYTES 1500
#endif
__attribute__((tls_model("initial-exec"))) __thread char hog[HOG_BYTES] = {1};

int hog_touch(void);
int hog_touch(void) {
    hog[HOG_BYTES - 1] = 7;
    return hog[0] + hog[HOG_BYTES - 1];
}

#ifdef HOG_MODULE
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "vt_hog", NULL, -1, NULL, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_vt_hog(void) { return hog_touch() == 8 ? PyModule_Create(&module) : NULL; }
#endif
