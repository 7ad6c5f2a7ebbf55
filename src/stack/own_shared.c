/* own_shared.c - our own code, when it is a shared library: all of it. own_static.c is the other choice.
 * Climate: signal.   Owns: nothing. */
#include "stack/impl.h"

VT_HIDDEN_BEGIN
extern const char __ehdr_start[]; /* the linker's: where the library begins */
extern const char etext[];        /* and where its code ends */
VT_HIDDEN_END

bool vt__is_own(uintptr_t pc) {
    return pc - (uintptr_t)__ehdr_start < (uintptr_t)etext - (uintptr_t)__ehdr_start;
}
