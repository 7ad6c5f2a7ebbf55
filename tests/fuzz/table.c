/* table.c - the fuzzer's function over a table of odd inputs, each cut short at every length and
 * with every byte changed: the same ones in every run. */
#include <stdio.h>
#include <string.h>

#include "odd.h" /* options_odd.c, gperftools_odd.c, jemalloc_odd.c, mimalloc_odd.c */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes);

static const unsigned char changes[] = {0,   1,   '\n', ' ', ',', '=',  '0',  '9',
                                        'K', 'k', 'T',  'z', '_', 0x7f, 0x80, 0xff};

int main(void) {
    unsigned long n = 0;
    for (size_t i = 0; i < n_odd; i++) {
        unsigned char text[512];
        size_t len = strlen(odd[i]);
        for (size_t cut = 0; cut <= len; cut++, n++)
            LLVMFuzzerTestOneInput((const unsigned char *)odd[i], cut);
        for (size_t at = 0; at < len; at++)
            for (size_t c = 0; c < sizeof(changes); c++, n++) {
                memcpy(text, odd[i], len);
                text[at] = changes[c];
                LLVMFuzzerTestOneInput(text, len);
            }
        for (size_t k = 0; k < n_odd; k++, n++) { /* one behind the other */
            int total = snprintf((char *)text, sizeof(text), "%s,%s", odd[i], odd[k]);
            LLVMFuzzerTestOneInput(text, (size_t)total);
        }
    }
    static unsigned char many[300000];
    for (size_t len = 1; len <= sizeof(many); len = len * 3 + 1, n++) {
        memset(many, ',', len);
        LLVMFuzzerTestOneInput(many, len);
        memset(many, 'a', len);
        LLVMFuzzerTestOneInput(many, len);
        memset(many, '9', len);
        LLVMFuzzerTestOneInput(many, len);
    }
    printf("%lu inputs, fine\n", n);
    return 0;
}
