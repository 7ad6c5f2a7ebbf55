/* mimalloc_odd.c - odd inputs for mimalloc's variables. */
#include <stddef.h>

extern const char *const odd[];
extern const size_t n_odd;

const char *const odd[] = {
    "",
    "0",
    "1",
    "-1",
    "+",
    "-",
    "on",
    "TRUE",
    "no",
    "10ms",
    "0x10",
    "1.5",
    " 1",
    "1 ",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "99999999999999999999999999999999999999999999999999999999999999999999999999",
    "1K",
    "1KB",
    "1KiB",
    "1KIBB",
    "16777216T",
    "9999999999999999T",
    "-5M",
    "5Q",
    "K",
    "VERBOSE=1",
    "MIMALLOC_VERBOSE=1",
    "mimalloc_purge_delay=3",
    "MIMALLOC_=1",
    "=",
    "\n",
    "\x7f\x80\xff",
    "UNKNOWN_NAME_THAT_IS_MUCH_LONGER_THAN_WHAT_A_WARNING_SHOWS_OF_IT_SO_IT_MUST_BE_CUT_SOMEWHERE=1",
};
const size_t n_odd = sizeof(odd) / sizeof(odd[0]);
