/* table.c - the fuzzer's function over a table of odd inputs, each cut short at every length and
 * with every byte changed: the same ones in every run. */
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes);

/* Another parser brings inputs of its own. */
#ifdef VT_FUZZ_ODD
#include VT_FUZZ_ODD
#else
static const char *const odd[] = {
    "",
    ",",
    ",,,,",
    "=",
    "==",
    "=,=",
    "limit",
    "limit=",
    "limit=0",
    "limit==1",
    "limit=1=2",
    "limit=1,limit=2",
    "limit=18446744073709551615",
    "limit=18446744073709551616",
    "limit=99999999999999999999999999",
    "limit=16777216T",
    "limit=1T,retain=1T,soft_limit=1T",
    "limit=1KiB",
    "limit=1kb",
    "limit=1Kib",
    "limit=1Kb,",
    "limit=1k1",
    "limit=k",
    "limit=-1",
    "limit= 1",
    " limit=1",
    "limit =1",
    "LIMIT=1",
    "lImIt=1m",
    "limits=1",
    "limi=1",
    "l=1",
    "stats",
    "stats,stats",
    "stats=on,stats=off",
    "stats=ON",
    "stats=2",
    "stats=true",
    "thp=auto",
    "thp=AUTO",
    "thp=aut",
    "thp=autos",
    "purge_delay=3600000",
    "purge_delay=3600001",
    "purge_delay=1s",
    "purge-delay=1",
    "numa_nodes=8",
    "numa_nodes=9",
    "numa_nodes=08",
    "window=16T",
    "\n",
    "limit=\n",
    "li\nmit=1",
    "limit=1\n",
    "\x1b[31m",
    "\x7f",
    "\x80\xff",
    "limit=\xc3\xa9",
    "\t=\t",
    "unknown_option_with_a_very_long_name_that_does_not_fit_into_any_buffer_of_ours_I_hope_so=1",
    "limit=a_value_that_is_much_longer_than_what_a_warning_shows_of_it_so_it_must_be_cut_somewhere_here",
    "FAIL_NTH=3:map",
    "FAIL_ALWAYS=purge",
    "=1",
    "LIMIT",
    "X=1",
    "limit=1,retain=2,purge_delay=3,stats,thp=on,deepbind=yes,numa_nodes=1,window=1G,soft_limit=5,purge_thread=off",
};
#endif

static const unsigned char changes[] = {0,   1,   '\n', ' ', ',', '=',  '0',  '9',
                                        'K', 'k', 'T',  'z', '_', 0x7f, 0x80, 0xff};

int main(void) {
    unsigned long n = 0;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
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
        for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++, n++) { /* one behind the other */
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
