/* mark.h - which process of several has the name of a profile for itself.
 *
 * The first one that finds the name in its environment writes its process id behind it there; a program that it starts finds the
 * mark, and adds its own process id to the name. Climate: host, no malloc.
 */
#ifndef VT_LIFE_MARK_H
#define VT_LIFE_MARK_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* The process that has the name; cuts the mark off. 0: nobody yet. */
uint64_t vt__life_cut_mark(char *path);

/* This process has it: in whichever of these variables ("NAME=") the path is. */
void vt__life_mark(const char *const *names, size_t n_names, const char *path);

VT_HIDDEN_END

#endif
