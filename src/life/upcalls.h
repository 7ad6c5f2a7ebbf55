/* upcalls.h - the front door: what the names a library is known by decide. Each library is linked with one of
 * dialect/door_*.c, which defines it. */
#ifndef VT_LIFE_UPCALLS_H
#define VT_LIFE_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

struct vt_door {
    void (*read_environment)(
        void); /* at start, after our own variables and before the heap: the old ones set options too; NULL: none */
    void (*begin)(void);               /* once the heap works and may be called; NULL: nothing */
    void (*no_memory)(size_t n_bytes); /* so much was refused; inside malloc. NULL: nothing */
};

extern const struct vt_door vt__door;

VT_HIDDEN_END

#endif
