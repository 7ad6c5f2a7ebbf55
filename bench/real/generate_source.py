"""Writes a C file for a compiler to chew on, to stdout.   generate_source.py FUNCTIONS

Structures, loops, switches and calls between functions; the same file for the same number.
"""
import sys

HEAD = """#include <stddef.h>
#include <stdint.h>
typedef struct node { struct node *next; uint32_t kind, count; int64_t value[8]; } node;
"""

FUNCTION = """
struct state_{i} {{ node *first; uint64_t total[{width}]; int depth; }};
static int64_t fold_{i}(const struct state_{i} *s, int64_t seed) {{
    int64_t sum = seed;
    for (int k = 0; k < {width}; k++) sum = sum * {odd} + (int64_t)(s->total[k] >> (k & 7));
    return sum ^ (sum >> {shift});
}}
int64_t walk_{i}(struct state_{i} *s, node *n, int64_t limit) {{
    int64_t sum = 0;
    for (; n != NULL && sum < limit; n = n->next) {{
        switch (n->kind % {cases}) {{
{arms}
        default: sum -= n->value[0]; break;
        }}
        s->total[n->count % {width}] += (uint64_t)sum;
        if (n->value[{slot}] > sum) sum = n->value[{slot}] {operator} {odd};
        while (s->depth > 0 && (sum & {mask}) == 0) {{ sum += fold_{i}(s, s->depth); s->depth--; }}
    }}
    return {call}fold_{i}(s, sum);
}}
"""

ARM = "        case {k}: sum += n->value[{slot}] * {a} - (int64_t)n->count; n->count ^= {b}u; break;"


def function(i):
    cases = 4 + i % 5
    arms = "\n".join(ARM.format(k=k, slot=(i + k) % 8, a=3 + (i * k) % 29, b=1 + (i + k) % 255)
                     for k in range(cases))
    call = "" if i == 0 else "(s->depth > %d ? walk_%d((void *)s, s->first, limit / 2) : 0) + " % (
        40 + i % 9, i - 1)
    return FUNCTION.format(i=i, width=4 + i % 13, odd=2 * i + 1, shift=3 + i % 11, cases=cases,
                           arms=arms, slot=i % 8, operator="+-^|"[i % 4], mask=(1 << i % 6) - 1,
                           call=call)


sys.stdout.write(HEAD + "".join(function(i) for i in range(int(sys.argv[1]))))
