/* chance.c - see chance.h. Climate: signal: any thread, no lock, one atomic addition per state. */
#include "probe/chance.h"

#include <stdatomic.h>

#include "os/os.h"
#include "probe/table.h"

#define STEP UINT64_C(0x9e3779b97f4a7c15)

static _Atomic uint64_t counter;

void vt__chance_seed(uint64_t seed) { atomic_store_explicit(&counter, seed, memory_order_relaxed); }

static uint64_t new_state(void) {
    /* relaxed: states need to differ, not to come in order */
    uint64_t n = atomic_fetch_add_explicit(&counter, STEP, memory_order_relaxed);
    if (vt_unlikely(n == 0)) { /* the first: begin where nobody knows */
        n = vt__os_random() | 1;
        vt__chance_seed(n + STEP);
    }
    return vt__mix(n) | 1;
}

static uint64_t next_random(uint64_t *state) {
    *state = vt_unlikely(*state == 0) ? new_state() : *state + 2 * STEP; /* odd: never 0 */
    return vt__mix(*state);
}

/* ln x for a normal x > 0: x = m * 2^e with m around 1, and ln m = 2 artanh((m - 1) / (m + 1)). */
static double ln(double x) {
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double m;
    __builtin_memcpy(&m, &bits, sizeof(m));
    if (m > 1.4142135623730951) {
        m /= 2;
        e++;
    }
    /* |s| < 0.172: s^19 is below 1e-14. Added up in pairs: each product of a chain would wait for the one before. */
    double s = (m - 1) / (m + 1), s2 = s * s, s4 = s2 * s2;
    double low = (1 + s2 * (1.0 / 3)) + s4 * (1.0 / 5 + s2 * (1.0 / 7));
    double high = (1.0 / 9 + s2 * (1.0 / 11)) + s4 * (1.0 / 13 + s2 * (1.0 / 15) + s4 * (1.0 / 17));
    return 2 * s * (low + s4 * s4 * high) + e * 0.69314718055994530942;
}

double vt__exponential(uint64_t *state) {
    double u = (double)((next_random(state) >> 11) + 1) * 0x1p-53; /* 0 < u <= 1 */
    return -ln(u);
}

double vt__probability_of(double x) {
    if (x > 40) return 1;
    /* 1 - exp(-x) by the series of exp for a small part of x, doubled as often as that was halved: 1 - (1 - q)^2 */
    int n_halvings = 0;
    while (x > 0.0625) {
        x /= 2;
        n_halvings++;
    }
    double q =
        x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5 * (1 - x / 6 * (1 - x / 7))))));
    while (n_halvings-- > 0) q = q * (2 - q);
    return q;
}
