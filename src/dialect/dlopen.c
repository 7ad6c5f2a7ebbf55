/* dlopen.c - finds libc's dlopen for the stub in dlopen.S, and tells the stack room when code was unloaded. Shared libraries
 * only: a static program opens none, or its own.
 * Climate: host. */
#include <dlfcn.h>

#include "conf/options.h"
#include "heap/upcalls.h"
#include "stack/stack.h"

VT_HIDDEN_BEGIN
void *vt__find_dlopen(void);
void *vt__real_dlopen;
bool vt__keep_deepbind;
VT_HIDDEN_END

void *vt__find_dlopen(void) {
    vt__life_start(); /* the options are read by then */
    vt__keep_deepbind = vt_opt(deepbind) != 0;
    vt__stack_modules_stay();
    vt__real_dlopen = dlsym(RTLD_NEXT, "dlopen");
    return vt__real_dlopen;
}

VT_EXPORT int dlclose(void *library) {
    static int (*_Atomic real)(void *);
    int (*close_it)(void *) = real;
    if (close_it == NULL) real = close_it = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    vt__stack_unload_begins();
    int err = close_it(library);
    vt__stack_unload_ends();
    return err;
}
