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

/* All bits depend on all bits of the state: both halves of a product of 128 bits. */
VT_INLINE uint64_t next_random(uint64_t *state) {
    uint64_t s = *state + 2 * STEP; /* odd: never 0 */
    if (vt_unlikely(s == 2 * STEP)) s = new_state();
    *state = s;
    __extension__ unsigned __int128 product =
        (unsigned __int128)s * (s ^ UINT64_C(0xd1342543de82ef95));
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
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

/* The area under exp(-x) in 64 parts of one size: 63 boxes, each from 0 to an edge and as high as it reaches to the next one, and at the
 * bottom a wider one, which has the tail beyond the first real edge in it. Nearly every point of a box is under the curve. */
#define N_PARTS 64
static const struct {
    double x, y; /* y: exp(-x); of the first: where the box begins */
} edge[N_PARTS + 1] = {
    {7.07882124685676, 0.0},
    {6.07882124685676, 0.0022908754386326714},
    {5.306629282132346, 0.004958612664378632},
    {4.826497316876918, 0.008014544568930094},
    {4.476383423182175, 0.011374475521795222},
    {4.1998918524194595, 0.014997198643526184},
    {3.970795962112455, 0.01885841657454343},
    {3.7747681915874707, 0.02294240826881019},
    {3.603124377712729, 0.027238486042549023},
    {3.4502021957873046, 0.03173921819301385},
    {3.312103716575662, 0.036439434820519284},
    {3.1860305013200034, 0.04133562742696987},
    {3.0699049923787936, 0.046425565430443634},
    {2.96214198013005, 0.05170804087159054},
    {2.861503991393752, 0.057182693281122667},
    {2.767006140309251, 0.06284988709866356},
    {2.677851433941338, 0.06871062498885228},
    {2.5933855343601095, 0.07476648661110331},
    {2.513064349981071, 0.08101958608823005},
    {2.4364303211326845, 0.08747254370112102},
    {2.3630947404080866, 0.09412846880114858},
    {2.2927243512526854, 0.10099095190501887},
    {2.225031036928924, 0.10806406460608775},
    {2.159763779497786, 0.1153523664139035},
    {2.0967023114426198, 0.12286091798923651},
    {2.035652046557891, 0.13059530051955265},
    {1.9764399894819915, 0.13856164120941478},
    {1.918911402089998, 0.14676664506240072},
    {1.8629270609260788, 0.15521763332128163},
    {1.8083609801303744, 0.16392258912391716},
    {1.755098503657796, 0.17289021113472064},
    {1.7030346921958526, 0.18212997613656987},
    {1.652072946249116, 0.1916522118274857},
    {1.6021238188785236, 0.2014681813739357},
    {1.553103980618221, 0.21159018164495524},
    {1.5049353058819148, 0.22203165750959125},
    {1.4575440552362622, 0.2328073351520212},
    {1.410860131624482, 0.24393337808062868},
    {1.364816391215585, 0.2554275704285428},
    {1.319347991187591, 0.267309533330858},
    {1.2743917575026629, 0.27960098171082487},
    {1.2298855555998343, 0.29232603084381203},
    {1.1857676458388688, 0.3055115647782976},
    {1.1419760033021127, 0.3191876823429852},
    {1.0984475778962541, 0.3333882414458065},
    {1.0551174651036745, 0.3481515292487196},
    {1.0119179494451205, 0.3635210954489169},
    {0.9687773705259899, 0.3795467996453763},
    {0.9256187435360635, 0.3962861437116921},
    {0.88235803917401, 0.4138059895900761},
    {0.8389019870890367, 0.43218480749496646},
    {0.795145203463896, 0.45151566852340036},
    {0.7509663422801403, 0.47191030545040485},
    {0.7062228039544408, 0.4935047455948951},
    {0.6607432533532361, 0.5164673257297917},
    {0.6143167011622189, 0.5410104408453777},
    {0.5666759794753672, 0.5674083846066577},
    {0.5174716326809188, 0.5960256161750555},
    {0.46622844743907804, 0.6273639479882985},
    {0.41226818117367997, 0.662146676965844},
    {0.3545600541266684, 0.7014819894382452},
    {0.2913962817347162, 0.747219509895363},
    {0.2195609671729519, 0.8028712074131054},
    {0.13155521577588303, 0.8767308644263717},
    {0.0, 1.0},
};

static double uniform(uint64_t random) {
    return (double)(int64_t)(random >> 11) * 0x1p-53;
} /* 0 <= it < 1 */

double vt__exponential(uint64_t *state) {
    double beyond = 0;
    for (;;) {
        uint64_t random =
            next_random(state); /* the lowest bits say which part, the highest where in it */
        unsigned i = random % N_PARTS;
        double x = uniform(random) * edge[i].x;
        if (vt_likely(x < edge[i + 1].x)) return beyond + x;
        if (i == 0) { /* the tail is like the whole */
            beyond += edge[1].x;
            continue;
        }
        double y = edge[i].y + uniform(next_random(state)) * (edge[i + 1].y - edge[i].y);
        if (ln(y) < -x) return beyond + x;
    }
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
