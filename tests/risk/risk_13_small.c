/* risk_13_small.c - a small program that says what it weighs: "WEIGHT_KIB HUGE_KIB IS_KEPT_SMALL".
 *
 *     risk_13_small             has had one block, as hardly a program has fewer
 *     risk_13_small MIB         holds that much in small blocks
 *
 * IS_KEPT_SMALL: 1 if its blocks are in a mapping that refuses huge pages (flag nh in smaps).
 */
#include "risk.h"

struct search {
    uintptr_t address;
    bool is_here, is_kept_small;
};

static void look_at_line(const char *line, void *state) {
    struct search *search = state;
    if (proc_begins_mapping(line)) {
        char *end;
        uintptr_t from = strtoul(line, &end, 16), to = strtoul(end + 1, NULL, 16);
        search->is_here = search->address >= from && search->address < to;
    } else if (search->is_here && strncmp(line, "VmFlags:", 8) == 0) {
        search->is_kept_small = strstr(line, " nh") != NULL;
    }
}

static bool is_kept_small(const void *block) {
    struct search search = {(uintptr_t)block, false, false};
    proc_lines("/proc/self/smaps", look_at_line, &search);
    return search.is_kept_small;
}

int main(int argc, char **argv) {
    size_t want = argc > 1 ? MiB((size_t)atoi(argv[1])) : 0;
    free(malloc(100));
    for (int i = 0; argc > 1 && i < 100; i++) {
        char *p = malloc((size_t)i * 20 + 1);
        if (p) memset(p, 1, (size_t)i * 20 + 1);
        free(p);
    }
    for (size_t got = 0; got < want; got += 1000) {
        char *p = malloc(1000);
        if (!p) return 3;
        memset(p, 1, 1000);
    }
    long weight = weight_kib(), huge = proc_sum_kib("/proc/self/smaps_rollup", "AnonHugePages:");
    printf("%ld %ld %d\n", weight, huge, is_kept_small(malloc(1000)));
    return 0;
}
