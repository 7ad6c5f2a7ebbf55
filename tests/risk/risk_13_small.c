/* risk_13_small.c - a small program that says what it weighs: "RSS_KIB HUGE_KIB N_NOHUGE".
 *
 *     risk_13_small [MIB]       holds that much in small blocks first
 *
 * N_NOHUGE counts the mappings that were asked to stay without huge pages (flag nh in smaps).
 */
#include "risk.h"

static long count_flag(const char *flag) {
    char line[512];
    long n = 0;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f))
        n += strncmp(line, "VmFlags:", 8) == 0 && strstr(line, flag) != NULL;
    if (f) fclose(f);
    return n;
}

int main(int argc, char **argv) {
    size_t want = argc > 1 ? MiB((size_t)atoi(argv[1])) : 0;
    for (int i = 0; i < 100; i++) {
        char *p = malloc((size_t)i * 20 + 1);
        if (p) memset(p, 1, (size_t)i * 20 + 1);
        free(p);
    }
    for (size_t got = 0; got < want; got += 1000) {
        char *p = malloc(1000);
        if (!p) return 3;
        memset(p, 1, 1000);
    }
    long rss = rss_kib(), huge = proc_sum_kib("/proc/self/smaps_rollup", "AnonHugePages:");
    printf("%ld %ld %ld\n", rss, huge, count_flag(" nh"));
    return 0;
}
