/* purger.c - stand-in until the purge thread is here. Climate: malloc. */
#include "heap/upcalls.h"
#include "life/life.h"

void vt__life_purge_wanted(void) {}
void vt__life_purger_forget(void) {}
