/* estimate.h - how good the numbers of a sampled heap are.
 *
 * A block of s bytes becomes a sample with the chance q = 1 - exp(-s / period), and stands for 1 / q blocks. The samples of a
 * stack are independent, so the variance of what they add up to is the sum of (1 - q) / q^2 over them for blocks, and of
 * s^2 (1 - q) / q^2 for bytes. Its root is the standard error: in two of three cases the truth is not further away, in 19 of
 * 20 not further than twice that. docs/decisions/sampling.md has the derivation.
 *
 * Climate: cli.
 */
#ifndef REPORT_ESTIMATE_H
#define REPORT_ESTIMATE_H

#include "report/profile.h"

/* Fills in the variances of a profile that was just read, if it is a sampled heap; else all is exact. Puts the numbers of blocks
 * right that the file has rounded, where it tells how many samples they are made of. */
void estimate_errors(struct profile *p);

/* Are these two dumps of one process? Then most of their samples are the same ones. */
bool estimate_is_one_run(const struct profile *p, const struct profile *base);
/* The errors of their difference, in which the samples from `first` on are the base's: only what came and went between the two
 * dumps is uncertain. At most so much came as was allocated in between, and at most so much went as was freed. `is_later`: the
 * base is the earlier of the two. */
void estimate_one_run(struct profile *p, uint32_t first, bool is_later);

/* Less than two standard errors from nothing: one time in twenty there is such a number where there is nothing. */
bool estimate_is_noise(double value, double error);

/* "±6%" of the value, "±0.4%" below one; "" when it is exact, or the value is 0. More than 999% is called so. */
#define ESTIMATE_BYTES 16
const char *estimate_text(double value, double error, char out[ESTIMATE_BYTES]);

#endif
