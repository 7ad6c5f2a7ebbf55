/* dlopen.c - finds libc's dlopen for the stub in dlopen.S. Shared libraries only: a static program opens none, or its own.
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
