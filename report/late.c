/* late.c - see late.h. Climate: cli. */
#include "report/late.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

bool late_load(const char *library, const struct late_function *functions) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return false;
    for (const struct late_function *f = functions; f->name; f++) {
        void *address = dlsym(handle, f->name);
        if (address == NULL) {
            (void)dlclose(handle);
            return false;
        }
        memcpy(f->to, &address, sizeof address); /* C has no cast from data to code */
    }
    return true;
}
