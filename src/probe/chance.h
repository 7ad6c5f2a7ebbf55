/* chance.h - random numbers, and the two functions sampling needs of mathematics; libm is not ours to load.
 *
 * Climate: signal.   Owns: the state of the generator.
 */
#ifndef VT_PROBE_CHANCE_H
#define VT_PROBE_CHANCE_H

#include "base/base.h"

VT_HIDDEN_BEGIN

double vt__exponential(void); /* random, mean 1 */
double vt__probability_of(
    double x); /* 1 - exp(-x), 0 <= x: that something of mean 1 comes within x */
void vt__chance_seed(uint64_t seed); /* for tests: the same again */

VT_HIDDEN_END

#endif
