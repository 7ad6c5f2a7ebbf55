/* chance.h - random numbers, and the two functions sampling needs of mathematics; libm is not ours to load.
 *
 * Climate: signal.   Owns: where the next state begins.
 */
#ifndef VT_PROBE_CHANCE_H
#define VT_PROBE_CHANCE_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* Random, mean 1. `state` belongs to the caller, who does not share it; 0: a new one is begun. */
double vt__exponential(uint64_t *state);
double vt__probability_of(
    double x); /* 1 - exp(-x), 0 <= x: that something of mean 1 comes within x */
void vt__chance_seed(uint64_t seed); /* for tests: the same again */

VT_HIDDEN_END

#endif
