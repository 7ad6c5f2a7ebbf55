/* cxx.h - what other files of this room need of cxx.c. Climate: host: the program's handler is called. */
#ifndef VT_DIALECT_CXX_H
#define VT_DIALECT_CXX_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* There is no memory: calls the program's new-handler. True: it returned, so it is worth trying again; false: there is none, or it
 * threw, and the exception ended here. */
bool vt__new_handler_helped(void);

VT_HIDDEN_END

#endif
