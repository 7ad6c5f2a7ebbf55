/* dlclose.c - dlclose: libc's; the stack room is told before and after. Shared libraries only, and of no use in one that was
 * itself opened late: the program's dlclose is libc's then.
 * Climate: host. */
#include <dlfcn.h>

#include "stack/stack.h"

VT_EXPORT int dlclose(void *library) {
    static int (*_Atomic real)(void *);
    int (*close_it)(void *) = real;
    if (close_it == NULL) real = close_it = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    vt__stack_unload_begins();
    int err = close_it(library);
    vt__stack_unload_ends();
    return err;
}
